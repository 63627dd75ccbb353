// Session: a program ready to run, and running it.
#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <mutex>

#include "arm_runtime/vgf.hpp"
#include "device.hpp"
#include "formats.hpp"
#include "pipelines.hpp"
#include "program.hpp"
#include "storage.hpp"

namespace arm_runtime::vgf {
namespace {

// Far longer than any program that is meant to end.
constexpr uint64_t kTimeout = 600'000'000'000;  // ns

// A GPU's interrupt reaches a sleeping thread up to this late; so does a timer.
constexpr uint64_t kWakeUp = 200'000;  // ns

uint64_t now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

void sleep_for(uint64_t nanoseconds) {
    const timespec time{static_cast<time_t>(nanoseconds / 1'000'000'000),
                        static_cast<long>(nanoseconds % 1'000'000'000)};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

template <typename Sizes>
std::string shape_text(const Sizes* sizes, size_t rank) {
    std::string text;
    for (size_t i = 0; i < rank; ++i) text += (i ? ", " : "") + std::to_string(sizes[i]);
    return "[" + text + "]";
}

bool same_type(DataType argument, DataType tensor) {
    return argument == tensor || (argument == DataType::kInt64 && tensor == DataType::kInt32);
}

/// A scalar may come with no dimension or with one.
bool same_shape(const Argument& argument, const std::vector<int64_t>& shape) {
    if (argument.rank == 0) return shape.size() == 1 && shape[0] == 1;
    return argument.rank == shape.size() && std::equal(shape.begin(), shape.end(), argument.shape);
}

void check_arguments(const Argument* arguments, size_t count, const std::vector<TensorInfo>& infos,
                     const char* kind) {
    if (count != infos.size()) {
        throw Error("the program has " + std::to_string(infos.size()) + " " + kind + "s, got " +
                    std::to_string(count));
    }
    for (size_t i = 0; i < count; ++i) {
        const Argument& argument = arguments[i];
        const TensorInfo& info = infos[i];
        // A text is made only for an error: a run allocates nothing.
        const auto where = [&] {
            return std::string(kind) + " " + std::to_string(i) + " ('" + info.name + "')";
        };
        if (argument.data == nullptr) throw Error(where() + " has no memory");
        if (!same_type(argument.type, info.type)) {
            throw Error(where() + " is " + name_of(info.type) + ", got " + name_of(argument.type));
        }
        if (!same_shape(argument, info.shape)) {
            throw Error(where() + " has shape " + shape_text(info.shape.data(), info.shape.size()) +
                        ", got " + shape_text(argument.shape, argument.rank));
        }
    }
}

}  // namespace

class Session::Impl {
  public:
    Impl(const void* data, size_t size, const Options& options)
        : program_(read_program(data, size)), device_(Device::get(options)) {
        const std::lock_guard<std::mutex> lock(device_.loading());
        storage_ = std::make_unique<Storage>(device_, program_);
        std::vector<Scratch> scratch;
        for (uint32_t i = 0; i < program_.segments.size(); ++i) {
            pipelines_.push_back(std::make_unique<Pipeline>(device_, program_, i));
            for (const Scratch& needs : pipelines_.back()->scratch()) scratch.push_back(needs);
        }
        device_.save_caches();
        storage_->bind(scratch);
        for (const auto& pipeline : pipelines_) pipeline->bind(*storage_);
        make_commands();
        describe_ports();
        forget_file();
    }

    ~Impl() {
        const std::lock_guard<std::mutex> lock(device_.loading());
        queries_ = {};
        fence_ = {};
        pool_ = {};
        pipelines_.clear();
        storage_.reset();
    }

    void run(const Argument* inputs, size_t input_count, const Argument* outputs,
             size_t output_count, std::vector<Event>* profile) {
        check_arguments(inputs, input_count, inputs_, "input");
        check_arguments(outputs, output_count, outputs_, "output");
        const std::lock_guard<std::mutex> lock(running_);
        const uint64_t begin = now();
        for (size_t i = 0; i < input_count; ++i) copy_in(inputs[i], i);
        const uint64_t submitted = now();
        const DeviceCalls& calls = device_.calls();
        check(calls.ResetFences(device_.handle(), 1, fence_.address()), "vkResetFences");
        device_.submit(commands_, fence_);
        wait(submitted);
        const uint64_t done = now();
        for (size_t i = 0; i < output_count; ++i) copy_out(outputs[i], i);
        if (profile) {
            profile->push_back({"copy inputs", false, begin, submitted});
            profile->push_back({"run", false, submitted, done});
            profile->push_back({"copy outputs", false, done, now()});
            add_device_events(submitted, done, *profile);
        }
    }

    Device& device() const { return device_; }
    const Storage& storage() const { return *storage_; }
    const std::vector<TensorInfo>& inputs() const { return inputs_; }
    const std::vector<TensorInfo>& outputs() const { return outputs_; }

  private:
    void describe_ports() {
        for (const auto& [ports, infos] :
             {std::pair(&program_.inputs, &inputs_), std::pair(&program_.outputs, &outputs_)}) {
            for (const Port& port : *ports) {
                const Resource& resource = program_.resources[port.resource];
                infos->push_back({port.name, port.type, resource.shape, resource.bytes});
            }
        }
    }

    /// The caller's file may go away now: nothing may point into it.
    void forget_file() {
        program_.copy = {};
        program_.uploads.clear();
        for (Segment& segment : program_.segments) {
            segment.code = nullptr;
            segment.constants.clear();
        }
    }

    void make_commands() {
        const DeviceCalls& calls = device_.calls();
        VkCommandPoolCreateInfo pool{};
        pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
        pool.queueFamilyIndex = device_.queue_family();
        pool_ = make<VkCommandPool>(device_.handle(), calls.CreateCommandPool,
                                    calls.DestroyCommandPool, pool, "vkCreateCommandPool");
        VkCommandBufferAllocateInfo allocate{};
        allocate.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
        allocate.commandPool = pool_;
        allocate.commandBufferCount = 1;
        check(calls.AllocateCommandBuffers(device_.handle(), &allocate, &commands_),
              "vkAllocateCommandBuffers");
        VkFenceCreateInfo fence{};
        fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
        fence_ = make<VkFence>(device_.handle(), calls.CreateFence, calls.DestroyFence, fence,
                               "vkCreateFence");
        if (device_.timestamp_period() != 0) {
            VkQueryPoolCreateInfo queries{};
            queries.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
            queries.queryType = VK_QUERY_TYPE_TIMESTAMP;
            queries.queryCount = static_cast<uint32_t>(pipelines_.size()) + 1;
            queries_ = make<VkQueryPool>(device_.handle(), calls.CreateQueryPool,
                                         calls.DestroyQueryPool, queries, "vkCreateQueryPool");
        }
        VkCommandBufferBeginInfo begin{};
        begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
        check(calls.BeginCommandBuffer(commands_, &begin), "vkBeginCommandBuffer");
        record();
        check(calls.EndCommandBuffer(commands_), "vkEndCommandBuffer");
    }

    void record() {
        const DeviceCalls& calls = device_.calls();
        if (queries_) {
            calls.CmdResetQueryPool(commands_, queries_, 0,
                                    static_cast<uint32_t>(pipelines_.size()) + 1);
        }
        timestamp(0);
        for (uint32_t i = 0; i < pipelines_.size(); ++i) {
            pipelines_[i]->record(commands_);
            // Before what reads the results: the next segment, which also may reuse memory, or the
            // host.
            const bool last = i + 1 == pipelines_.size();
            VkMemoryBarrier2 barrier{};
            barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2;
            barrier.srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
            barrier.srcAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT;
            barrier.dstStageMask =
                last ? VK_PIPELINE_STAGE_2_HOST_BIT : VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
            barrier.dstAccessMask =
                last ? VK_ACCESS_2_HOST_READ_BIT
                     : VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT;
            VkDependencyInfo dependency{};
            dependency.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
            dependency.memoryBarrierCount = 1;
            dependency.pMemoryBarriers = &barrier;
            calls.CmdPipelineBarrier2(commands_, &dependency);
            timestamp(i + 1);
        }
    }

    /// Waits for the fence. On a GPU, sleeps through most of the time that the last run took and
    /// looks at the fence for the rest: to be woken by the driver takes longer.
    void wait(uint64_t submitted) {
        const auto poll = [this](uint64_t timeout) {
            const VkResult result = device_.calls().WaitForFences(
                device_.handle(), 1, fence_.address(), VK_TRUE, timeout);
            if (result != VK_TIMEOUT) check(result, "vkWaitForFences");
            return result == VK_SUCCESS;
        };
        bool done = false;
        if (!device_.is_cpu()) {
            const uint64_t nap = last_run_ - last_run_ / 8;
            if (nap > 2 * kWakeUp) sleep_for(nap - kWakeUp);
            const uint64_t patience = submitted + 2 * last_run_ + kWakeUp;
            do done = poll(0);
            while (!done && now() < patience);
        }
        if (!done && !poll(kTimeout)) {
            throw Error(device_.name() + " did not finish in 10 minutes");
        }
        last_run_ = now() - submitted;
    }

    void timestamp(uint32_t query) {
        if (!queries_) return;
        device_.calls().CmdWriteTimestamp2(commands_, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                                           queries_, query);
    }

    void copy_in(const Argument& argument, size_t index) {
        const TensorInfo& info = inputs_[index];
        uint8_t* const to = storage_->mapped(program_.inputs[index].resource);
        if (argument.type == info.type) {
            std::memcpy(to, argument.data, info.bytes);
            return;
        }
        int64_t bad = 0;
        if (!narrow(static_cast<const int64_t*>(argument.data), reinterpret_cast<int32_t*>(to),
                    info.bytes / sizeof(int32_t), &bad)) {
            throw Error("input " + std::to_string(index) + " ('" + info.name + "') holds " +
                        std::to_string(bad) + ", which int32, the program's type, cannot");
        }
    }

    void copy_out(const Argument& argument, size_t index) {
        const TensorInfo& info = outputs_[index];
        const uint8_t* const from = storage_->mapped(program_.outputs[index].resource);
        if (argument.type == info.type) {
            std::memcpy(argument.data, from, info.bytes);
        } else {
            widen(reinterpret_cast<const int32_t*>(from), static_cast<int64_t*>(argument.data),
                  info.bytes / sizeof(int32_t));
        }
    }

    /// The device's clock is not ours: its last timestamp counts as the moment we saw it done.
    void add_device_events(uint64_t submitted, uint64_t done, std::vector<Event>& profile) {
        if (!queries_) return;
        const size_t count = pipelines_.size() + 1;
        std::vector<uint64_t> ticks(count);
        check(device_.calls().GetQueryPoolResults(
                  device_.handle(), queries_, 0, static_cast<uint32_t>(count),
                  count * sizeof(uint64_t), ticks.data(), sizeof(uint64_t),
                  VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
              "vkGetQueryPoolResults");
        const auto when = [&](size_t i) {
            const auto ago = static_cast<double>(ticks[count - 1] - ticks[i]);
            const auto elapsed = static_cast<uint64_t>(ago * device_.timestamp_period());
            return std::max(submitted, done - std::min(elapsed, done));
        };
        for (size_t i = 0; i + 1 < count; ++i) {
            const std::string& name = program_.segments[i].name;
            profile.push_back({name.c_str(), true, when(i), when(i + 1)});
        }
    }

    Program program_;
    Device& device_;
    std::unique_ptr<Storage> storage_;
    std::vector<std::unique_ptr<Pipeline>> pipelines_;
    Owned<VkCommandPool> pool_;
    VkCommandBuffer commands_ = VK_NULL_HANDLE;
    Owned<VkFence> fence_;
    Owned<VkQueryPool> queries_;
    std::vector<TensorInfo> inputs_;
    std::vector<TensorInfo> outputs_;
    std::mutex running_;
    uint64_t last_run_ = 0;  ///< ns from submission to the end
};

Session::Session(const void* data, size_t size, const Options& options)
    : impl_(std::make_unique<Impl>(data, size, options)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

const std::vector<TensorInfo>& Session::inputs() const { return impl_->inputs(); }
const std::vector<TensorInfo>& Session::outputs() const { return impl_->outputs(); }
const MemoryUse& Session::memory() const { return impl_->storage().use(); }
const std::string& Session::device() const { return impl_->device().name(); }

void Session::run(const Argument* inputs, size_t input_count, const Argument* outputs,
                  size_t output_count, std::vector<Event>* profile) {
    impl_->run(inputs, input_count, outputs, output_count, profile);
}

}  // namespace arm_runtime::vgf
