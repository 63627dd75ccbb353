// Session: a program ready to run, and running it.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>

#include "arm_runtime/vgf.hpp"
#include "device.hpp"
#include "engine.hpp"
#include "formats.hpp"
#include "parsed_file.hpp"
#include "push_values.hpp"
#include "sized_program.hpp"
#include "sizes.hpp"
#include "submission.hpp"
#include "tuner.hpp"

namespace arm_runtime::vgf {
namespace {

template <typename Sizes>
std::string shape_text(const Sizes* sizes, size_t rank) {
    std::string text;
    for (size_t i = 0; i < rank; ++i) text += (i ? ", " : "") + std::to_string(sizes[i]);
    return "[" + text + "]";
}

constexpr size_t kMaxRank = 16;  // of arguments; more than that of any tensor of a VGF

bool same_type(DataType argument, DataType tensor) {
    return argument == tensor || (argument == DataType::kInt64 && tensor == DataType::kInt32);
}

/// A scalar may come with no dimension or with one.
bool same_shape(const Argument& argument, const std::vector<int64_t>& shape) {
    if (argument.rank == 0) return shape.size() == 1 && shape[0] == 1;
    return argument.rank == shape.size() && std::equal(shape.begin(), shape.end(), argument.shape);
}

// A text is made only for an error: a run allocates nothing.
std::string text_of(const char* kind, size_t index, const TensorInfo& info) {
    return std::string(kind) + " " + std::to_string(index) + " ('" + info.name + "')";
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
        if (argument.rank > kMaxRank || (argument.rank > 0 && argument.shape == nullptr)) {
            throw Error(text_of(kind, i, info) + " has " +
                        (argument.rank > kMaxRank ? "rank " + std::to_string(argument.rank)
                                                  : std::string("no shape")));
        }
        if (!same_type(argument.type, info.type)) {
            throw Error(text_of(kind, i, info) + " is " + name_of(info.type) + ", got " +
                        name_of(argument.type));
        }
    }
}

void check_memory(const Argument* arguments, const std::vector<TensorInfo>& infos,
                  const char* kind) {
    for (size_t i = 0; i < infos.size(); ++i) {
        if (arguments[i].data == nullptr) {
            throw Error(text_of(kind, i, infos[i]) + " has no memory");
        }
    }
}

/// Bytes of a tensor of the program that an argument is for.
size_t bytes_of(const Argument& argument, const TensorInfo& info) {
    size_t bytes = size_of(info.type);
    for (size_t i = 0; i < argument.rank; ++i) bytes *= static_cast<size_t>(argument.shape[i]);
    return bytes;
}

}  // namespace

class Session::Impl {
  public:
    Impl(const void* data, size_t size, const Options& options)
        : Impl(read_file(data, size, options.sizes), options) {}

    Impl(const ParsedFile& file, const Options& options) : Impl(file, sized_graph(file), options) {}

    Impl(const ParsedFile& file, std::optional<SizedGraph> graph, const Options& options)
        : sizes_(file.program, graph ? &*graph : nullptr),
          device_(Device::get(options)),
          push_values_(file.program.segments) {
        if (file.program.had_unknown_sizes && device_.engine() != EngineKind::kCompute) {
            throw Error(std::string("the engine `") + name_of(device_.engine()) +
                        "` does not run files with unknown sizes (-1): use the engine `compute`");
        }
        if (options.statistics != Counting::kOff && device_.engine() == EngineKind::kCompute) {
            throw Error(
                "the engine `compute` has no statistics of a neural accelerator: leave them off; "
                "profiles tell how long each kernel takes");
        }
        const std::lock_guard<std::mutex> lock(device_.loading());
        device_.guard([&] {
            engine_ = device_.engine() == EngineKind::kCompute
                          ? make_tuned_engine(device_, file, options, graphs_at(sizes_, graph))
                          : make_native_engine(device_, file, options.statistics);
            device_.cache().save();
            device_.facts().save();
        });
        engine_reason_ = device_.engine_reason() + device_.facts().note();
    }

    ~Impl() {
        if (device_.is_forked()) {
            // What the driver has stays as it is: it is the parent's.
            [[maybe_unused]] const Engine* parents = engine_.release();
            return;
        }
        const std::lock_guard<std::mutex> lock(device_.loading());
        engine_.reset();
    }

    void require_same_process() const {
        if (device_.is_forked()) throw Error(kForked);
    }

    void run(const Argument* inputs, size_t input_count, const Argument* outputs,
             size_t output_count, std::vector<Event>* profile) {
        require_same_process();
        const size_t number = number_of(inputs, input_count);
        check_arguments(outputs, output_count, sizes_.outputs(), "output");
        check_memory(inputs, sizes_.inputs(), "input");
        check_memory(outputs, sizes_.outputs(), "output");
        for (size_t i = 0; i < output_count; ++i) {
            const std::vector<int64_t>& shape = sizes_.output_shapes(number)[i];
            if (same_shape(outputs[i], shape)) continue;
            throw Error(text_of("output", i, sizes_.outputs()[i]) + " has shape " +
                        shape_text(shape.data(), shape.size()) + ", got " +
                        shape_text(outputs[i].shape, outputs[i].rank));
        }
        const std::lock_guard<std::mutex> lock(running_);
        push_values_.check_all();
        device_.guard([&] { engine_->choose(number); });
        const uint64_t begin = now();
        for (size_t i = 0; i < input_count; ++i) copy_in(inputs[i], i);
        const uint64_t submitted = now();
        const size_t first = profile ? profile->size() : 0;
        device_.guard([&] { engine_->run(profile); });
        const uint64_t done = now();
        for (size_t i = 0; i < output_count; ++i) copy_out(outputs[i], i);
        if (profile) {
            // The host's before the device's.
            profile->insert(profile->begin() + static_cast<std::ptrdiff_t>(first),
                            {{"copy inputs", false, begin, submitted},
                             {"run", false, submitted, done},
                             {"copy outputs", false, done, now()}});
        }
    }

    /// The number of the sizes of a run with these inputs, which are checked.
    size_t number_of(const Argument* inputs, size_t count) const {
        check_arguments(inputs, count, sizes_.inputs(), "input");
        const size_t number = sizes_.number_of(inputs);
        if (number != sizes_.largest() && device_.engine() != EngineKind::kCompute) {
            throw Error(std::string("the engine `") + name_of(device_.engine()) +
                        "` runs this program at its largest sizes only: use the engine `compute`");
        }
        return number;
    }

    const std::vector<PushConstantInfo>& push_constants() const { return push_values_.infos(); }

    void set_push_constants(size_t index, const void* data, size_t bytes) {
        require_same_process();
        push_values_.check(index, data, bytes);
        const std::lock_guard<std::mutex> lock(running_);
        push_values_.give(*engine_, index, data);
    }

    std::vector<Statistic> statistics() {
        require_same_process();
        const std::lock_guard<std::mutex> lock(running_);
        return device_.guard([&] { return engine_->statistics(); });
    }

    Device& device() const { return device_; }
    const Sizes& sizes() const { return sizes_; }
    const std::string& engine_reason() const { return engine_reason_; }
    const MemoryUse& memory() const { return engine_->memory(); }
    const std::string& plan() const { return engine_->plan(); }

  private:
    void copy_in(const Argument& argument, size_t index) {
        const TensorInfo& info = sizes_.inputs()[index];
        const size_t bytes = bytes_of(argument, info);
        uint8_t* const to = engine_->input(index);
        if (argument.type == info.type) {
            std::memcpy(to, argument.data, bytes);
            return;
        }
        int64_t bad = 0;
        if (!narrow(static_cast<const int64_t*>(argument.data), reinterpret_cast<int32_t*>(to),
                    bytes / sizeof(int32_t), &bad)) {
            throw Error("input " + std::to_string(index) + " ('" + info.name + "') holds " +
                        std::to_string(bad) + ", which int32, the program's type, cannot");
        }
    }

    void copy_out(const Argument& argument, size_t index) {
        const TensorInfo& info = sizes_.outputs()[index];
        const size_t bytes = bytes_of(argument, info);
        const uint8_t* const from = engine_->output(index);
        if (argument.type == info.type) {
            std::memcpy(argument.data, from, bytes);
        } else {
            widen(reinterpret_cast<const int32_t*>(from), static_cast<int64_t*>(argument.data),
                  bytes / sizeof(int32_t));
        }
    }

    Sizes sizes_;
    Device& device_;
    std::unique_ptr<Engine> engine_;
    std::string engine_reason_;
    PushValues push_values_;
    std::mutex running_;
};

Session::Session(const void* data, size_t size, const Options& options)
    : impl_(std::make_unique<Impl>(data, size, options)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

DeviceInfo find_device(const Options& options) {
    const Device& device = Device::get(options);
    return {device.name(), device.engine(), device.engine_reason()};
}

void Session::require_same_process() const { impl_->require_same_process(); }
const std::vector<TensorInfo>& Session::inputs() const { return impl_->sizes().inputs(); }
const std::vector<TensorInfo>& Session::outputs() const { return impl_->sizes().outputs(); }
const std::vector<Symbol>& Session::symbols() const { return impl_->sizes().symbols(); }
const std::vector<std::vector<int64_t>>& Session::output_shapes(const Argument* inputs,
                                                                size_t input_count) const {
    return impl_->sizes().output_shapes(impl_->number_of(inputs, input_count));
}
const MemoryUse& Session::memory() const { return impl_->memory(); }
const std::string& Session::device() const { return impl_->device().name(); }
EngineKind Session::engine() const { return impl_->device().engine(); }
const std::string& Session::plan() const { return impl_->plan(); }
const std::string& Session::engine_reason() const { return impl_->engine_reason(); }

std::vector<Statistic> Session::statistics() const { return impl_->statistics(); }

const std::vector<PushConstantInfo>& Session::push_constants() const {
    return impl_->push_constants();
}

void Session::set_push_constants(size_t index, const void* data, size_t bytes) {
    impl_->set_push_constants(index, data, bytes);
}

void Session::run(const Argument* inputs, size_t input_count, const Argument* outputs,
                  size_t output_count, std::vector<Event>* profile) {
    impl_->run(inputs, input_count, outputs, output_count, profile);
}

}  // namespace arm_runtime::vgf
