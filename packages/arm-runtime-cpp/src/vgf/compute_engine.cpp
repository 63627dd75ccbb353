// The engine on kernels of our own: four buffers, one descriptor set, one command buffer.
#include <algorithm>
#include <cstring>
#include <map>

#include "device_buffer.hpp"
#include "engine.hpp"
#include "graph/graph.hpp"
#include "images.hpp"
#include "kernel_layout.hpp"
#include "kernels/steps.h"
#include "memory_plan.hpp"
#include "pipelines.hpp"
#include "plan/plan.hpp"
#include "plan/plan_text.hpp"
#include "submission.hpp"

namespace arm_runtime::vgf {
namespace {

constexpr uint64_t kAlignment = 256;

bool overlap(const std::vector<Slot>& some, const std::vector<Slot>& others) {
    return std::any_of(some.begin(), some.end(), [&](const Slot& a) {
        return std::any_of(others.begin(), others.end(),
                           [&](const Slot& b) { return overlap(a, b); });
    });
}

class ComputeEngine final : public Engine, private ResourceMemory {
  public:
    ComputeEngine(Device& device, const ParsedFile& file, const DeviceTraits& traits,
                  const Graphs& graphs, Ports ports)
        : device_(device),
          program_(file.program),
          ports_(ports),
          inputs_share_(can_share_inputs()) {
        place_resources();
        Plan plan;
        plan.work_bytes = shared_bytes_;
        for (size_t number = 0; number < graphs.count; ++number) {
            plan.dispatches.clear();
            plan.saved_bytes = 0;
            plan_segments(file, traits, graphs.at ? &graphs.at(number) : nullptr, plan);
            if (number + 1 == graphs.count) plan_text_ = json_of(plan);
            variants_.push_back({std::move(plan.dispatches), {}});
        }
        make_buffers(plan);
        images_ =
            std::make_unique<Images>(device, program_, static_cast<const ResourceMemory&>(*this));
        layout_ = std::make_unique<KernelLayout>(device, buffers_);
        make_pipelines(file);
        if (!program_.takes_push_constants()) choose(graphs.count - 1);  // else when they are there
        use_.work = plan.work_bytes + images_->bytes();
        use_.saved = plan.saved_bytes;
        use_.constants = plan.constants.size();
    }

    uint8_t* input(size_t index) override { return mapped(program_.inputs[index].resource); }
    const uint8_t* output(size_t index) override {
        return mapped(program_.outputs[index].resource);
    }
    const MemoryUse& memory() const override { return use_; }
    const std::string& plan() const override { return plan_text_; }

    void choose(size_t number) override {
        if (number == chosen_) return;
        chosen_ = kNone;
        if (ports_ == Ports::kHost) record(variants_[number]);
        chosen_ = number;
    }

    void record(const vk::raii::CommandBuffer& commands) override {
        record(variants_[chosen_], commands, nullptr);
        images_->finish(commands);
    }

    vk::DescriptorBufferInfo input_buffer(size_t index) const override {
        return buffer(program_.inputs[index].resource);
    }
    vk::DescriptorBufferInfo output_buffer(size_t index) const override {
        return buffer(program_.outputs[index].resource);
    }

    void push(uint32_t segment, const uint8_t* bytes) override {
        shaders_.at(segment)->push(bytes);
        chosen_ = kNone;  // to be recorded again
    }

    std::vector<const Dispatch*> dispatches() const override {
        std::vector<const Dispatch*> out;
        for (const Variant& variant : variants_) {
            for (const Dispatch& dispatch : variant.dispatches) out.push_back(&dispatch);
        }
        return out;
    }

    void run(std::vector<Event>* profile) override {
        if (profile == nullptr || timed_ == nullptr) {
            plain_->run();
            return;
        }
        timed_->run();
        const std::vector<Dispatch>& dispatches = variants_[chosen_].dispatches;
        const auto times = timed_->times(static_cast<uint32_t>(dispatches.size()) + 1);
        for (size_t i = 0; i + 1 < times.size(); ++i) {
            profile->push_back({dispatches[i].text.c_str(), true, times[i], times[i + 1]});
        }
    }

  private:
    static constexpr size_t kNone = ~size_t{0};

    /// The program at some sizes.
    struct Variant {
        std::vector<Dispatch> dispatches;
        std::vector<vk::Pipeline> pipelines;  ///< by dispatch
    };

    void plan_segments(const ParsedFile& file, const DeviceTraits& traits, const Graph* given,
                       Plan& plan) {
        for (size_t i = 0; i < program_.segments.size(); ++i) {
            const size_t first = plan.dispatches.size();
            if (!program_.segments[i].graph()) {
                plan_shader(file, static_cast<uint32_t>(i), plan);
            } else {
                Graph graph = given ? *given : read_graph(file, i);
                make_plan(graph, slots_, traits, shared_bytes_, plan);
            }
            for (size_t at = first; at < plan.dispatches.size(); ++at) {
                plan.dispatches[at].part = static_cast<uint32_t>(i);
            }
        }
    }

    uint8_t* mapped(uint32_t resource) const {
        const Slot& slot = slots_[resource];
        return buffers_[slot.buffer].memory.mapped + slot.offset;
    }

    /// Whether inputs lie in the work buffer, where what comes after their last readers takes their
    /// place: each run is given them again. Only where no segment leaves anything for another, and
    /// whoever writes them writes there.
    bool can_share_inputs() const {
        const bool one = program_.segments.size() == 1 && program_.segments[0].graph() != nullptr;
        return one && (ports_ == Ports::kDevice || device_.direct_memory()) &&
               std::none_of(program_.resources.begin(), program_.resources.end(),
                            [](const Resource& r) { return r.role == Role::kIntermediate; });
    }

    /// Inputs, outputs, and what one segment leaves for another.
    void place_resources() {
        slots_.resize(program_.resources.size());
        std::map<uint32_t, Slot> storages;  // an alias group shares one
        uint64_t inputs_end = 0;            // in the work buffer
        for (size_t i = 0; i < slots_.size(); ++i) {
            const Resource& resource = program_.resources[i];
            if (resource.role == Role::kConstant) continue;
            if (resource.image && !has_packed_copy(program_, static_cast<uint32_t>(i))) continue;
            uint32_t buffer = BUFFER_WORK;
            uint64_t* size = &shared_bytes_;
            if (resource.home == Role::kInput) {
                if (!inputs_share_) buffer = BUFFER_INPUTS;
                size = inputs_share_ ? &inputs_end : &use_.inputs;
            } else if (resource.home == Role::kOutput) {
                buffer = BUFFER_OUTPUTS;
                size = &use_.outputs;
            }
            const auto known = storages.find(resource.storage);
            if (known != storages.end()) {
                slots_[i] = known->second;
                continue;
            }
            slots_[i] = {buffer, *size, aligned(resource.bytes, kAlignment)};
            for (const Resource& other : program_.resources) {
                if (other.storage == resource.storage) {
                    slots_[i].bytes = std::max(slots_[i].bytes, aligned(other.bytes, kAlignment));
                }
            }
            *size += slots_[i].bytes;
            storages[resource.storage] = slots_[i];
        }
    }

    TensorViewHandle view(uint32_t) const override { return {}; }  // plan_shader refuses tensors
    vk::DescriptorBufferInfo buffer(uint32_t resource) const override {
        const Slot& slot = slots_[resource];
        return {*buffers_[slot.buffer].handle, slot.offset, program_.resources[resource].bytes};
    }

    vk::DescriptorImageInfo image(uint32_t resource) const override {
        return images_->descriptor(resource);
    }

    /// A compute shader of the VGF, between graphs.
    void plan_shader(const ParsedFile& file, uint32_t index, Plan& plan) {
        const Segment& segment = program_.segments[index];
        Dispatch dispatch{};
        dispatch.segment = index;
        dispatch.kernel = "shader";
        dispatch.text = segment.name;
        for (const Binding& binding : segment.bindings) {
            const Resource& resource = program_.resources[binding.resource];
            if (resource.descriptor == kDescriptorTensor) {
                throw Error(text_of(segment, index) +
                            ": its compute shader takes a tensor, which needs VK_ARM_tensors: "
                            "use the engine `native` or `layer`");
            }
            if (resource.image) {
                // No buffer of ours, but dispatches wait for one another as if it were one.
                const Slot texels{static_cast<uint32_t>(kBuffers) + binding.resource, 0,
                                  resource.bytes};
                dispatch.reads.push_back(texels);
                if (binding.written) dispatch.writes.push_back(texels);
                continue;
            }
            Slot& slot = slots_[binding.resource];
            if (resource.role == Role::kConstant && slot.bytes == 0) {
                slot = upload_slot(file.uploads, binding.resource, plan);
            }
            dispatch.reads.push_back(slot);
            if (resource.role != Role::kConstant) dispatch.writes.push_back(slot);
        }
        plan.dispatches.push_back(std::move(dispatch));
    }

    Slot upload_slot(const Uploads& uploads, uint32_t resource, Plan& plan) const {
        const uint64_t bytes = program_.resources[resource].bytes;
        const Slot slot{BUFFER_CONSTANTS, aligned(plan.constants.size(), kAlignment), bytes};
        plan.constants.resize(slot.offset + bytes);
        for (const auto& [known, data] : uploads) {
            if (known == resource) std::memcpy(&plan.constants[slot.offset], data, bytes);
        }
        return slot;
    }

    void make_buffers(const Plan& plan) {
        const bool mapped = inputs_share_ && ports_ == Ports::kHost;
        make_buffer(BUFFER_WORK, plan.work_bytes,
                    mapped ? device_.direct_memory() : vk::MemoryPropertyFlags(),
                    vk::MemoryPropertyFlagBits::eDeviceLocal);
        make_buffer(BUFFER_CONSTANTS, plan.constants.size(), {},
                    vk::MemoryPropertyFlagBits::eDeviceLocal);
        const bool of_host = ports_ == Ports::kHost;
        const vk::MemoryPropertyFlags required = of_host ? kHostMemory : vk::MemoryPropertyFlags();
        make_buffer(BUFFER_INPUTS, use_.inputs, required, vk::MemoryPropertyFlagBits::eDeviceLocal);
        make_buffer(BUFFER_OUTPUTS, use_.outputs, required,
                    of_host ? vk::MemoryPropertyFlagBits::eHostCached
                            : vk::MemoryPropertyFlagBits::eDeviceLocal);
        if (!plan.constants.empty()) {
            upload(device_, plan.constants, buffers_[BUFFER_CONSTANTS]);
        }
    }

    void make_buffer(uint32_t index, uint64_t bytes, vk::MemoryPropertyFlags required,
                     vk::MemoryPropertyFlags preferred) {
        DeviceBuffer& buffer = buffers_[index];
        // Kernels count bytes with 31 bits.
        const uint64_t limit = std::min<uint64_t>(device_.max_buffer_range(), 0x7fffffff);
        if (bytes + 2 * kAlignment > limit) {
            static constexpr const char* kWhat[] = {"intermediate values", "constants", "inputs",
                                                    "outputs"};
            throw Error("the program's " + std::string(kWhat[index]) + " take " +
                        std::to_string(bytes) + " bytes; kernels reach " + std::to_string(limit) +
                        " on " + device_.name() +
                        " (2 GiB, or its maxStorageBufferRange if that is less)");
        }
        buffer = make_device_buffer(device_, bytes, required, preferred);
    }

    void make_pipelines(const ParsedFile& file) {
        using Key = std::pair<const void*, std::vector<std::pair<uint32_t, uint32_t>>>;
        std::map<Key, vk::Pipeline> known;
        for (Variant& variant : variants_) {
            for (const Dispatch& dispatch : variant.dispatches) {
                if (dispatch.segment != kNoSegment) {
                    shaders_[dispatch.segment] = std::make_unique<Pipeline>(
                        device_, program_, dispatch.segment, file.code[dispatch.segment]);
                    shaders_[dispatch.segment]->bind(*this);
                    variant.pipelines.emplace_back();
                    continue;
                }
                vk::Pipeline& pipeline = known[{dispatch.spirv.get(), dispatch.specialization}];
                if (!pipeline) {
                    pipelines_.push_back(layout_->compile(dispatch));
                    pipeline = *pipelines_.back();
                }
                variant.pipelines.push_back(pipeline);
            }
        }
        for (Variant& variant : variants_) {
            for (Dispatch& dispatch : variant.dispatches) dispatch.spirv.reset();
        }
    }

    void record(const Variant& variant) {
        uint32_t dispatches = 0;
        for (const Variant& one : variants_) {
            dispatches = std::max(dispatches, static_cast<uint32_t>(one.dispatches.size()));
        }
        if (plain_ == nullptr) plain_ = std::make_unique<Submission>(device_, 0);
        record(variant, *plain_);
        if (device_.timestamp_period() == 0) return;
        if (timed_ == nullptr) timed_ = std::make_unique<Submission>(device_, dispatches + 1);
        record(variant, *timed_);
    }

    void record(const Variant& variant, Submission& submission) {
        const vk::raii::CommandBuffer& commands = submission.begin();
        submission.timestamp(0);
        record(variant, commands, &submission);
        images_->finish(commands);
        barrier(commands, vk::PipelineStageFlagBits::eHost, vk::AccessFlagBits::eHostRead);
        submission.end();
    }

    /// Records the segments; `submission`, if there is one, notes the time after each dispatch.
    void record(const Variant& variant, const vk::raii::CommandBuffer& commands,
                Submission* submission) {
        images_->begin();
        vk::Pipeline bound;
        // Since the last barrier; kept, so that recording again allocates nothing.
        std::vector<Slot>& reads = reads_;
        std::vector<Slot>& writes = writes_;
        reads.clear();
        writes.clear();
        size_t segment = 0;
        const auto enter = [&](size_t end) {
            for (; segment < end; ++segment) {
                if (images_->prepare(commands, program_.segments[segment])) {
                    reads.clear();
                    writes.clear();
                }
            }
        };
        for (size_t i = 0; i < variant.dispatches.size(); ++i) {
            const Dispatch& dispatch = variant.dispatches[i];
            enter(dispatch.part + size_t{1});
            const bool over_others = !dispatch.apart && (overlap(dispatch.writes, writes) ||
                                                         overlap(dispatch.writes, reads));
            if (over_others || overlap(dispatch.reads, writes)) {
                barrier(commands, vk::PipelineStageFlagBits::eComputeShader,
                        vk::AccessFlagBits::eUniformRead | vk::AccessFlagBits::eShaderRead |
                            vk::AccessFlagBits::eShaderWrite);
                reads.clear();
                writes.clear();
            }
            if (dispatch.segment != kNoSegment) {
                shaders_.at(dispatch.segment)->record(commands);
                bound = nullptr;
            } else {
                if (!bound) layout_->bind(commands);
                if (variant.pipelines[i] != bound) {
                    bound = variant.pipelines[i];
                    commands.bindPipeline(vk::PipelineBindPoint::eCompute, bound);
                }
                layout_->dispatch(commands, dispatch);
            }
            reads.insert(reads.end(), dispatch.reads.begin(), dispatch.reads.end());
            writes.insert(writes.end(), dispatch.writes.begin(), dispatch.writes.end());
            if (submission != nullptr) submission->timestamp(static_cast<uint32_t>(i) + 1);
        }
        enter(program_.segments.size());
    }

    static void barrier(const vk::raii::CommandBuffer& commands, vk::PipelineStageFlags stage,
                        vk::AccessFlags access) {
        const vk::MemoryBarrier memory(vk::AccessFlagBits::eShaderWrite, access);
        commands.pipelineBarrier(vk::PipelineStageFlagBits::eComputeShader, stage, {}, memory, {},
                                 {});
    }

    Device& device_;
    const Program program_;
    const Ports ports_;
    const bool inputs_share_;
    ResourceSlots slots_;
    uint64_t shared_bytes_ = 0;  ///< of the work buffer: what segments pass on
    MemoryUse use_{};
    std::array<DeviceBuffer, kBuffers> buffers_;
    std::unique_ptr<Images> images_;
    std::unique_ptr<KernelLayout> layout_;
    std::map<uint32_t, std::unique_ptr<Pipeline>> shaders_;  ///< by segment
    std::vector<vk::raii::Pipeline> pipelines_;
    std::vector<Variant> variants_;  ///< by the number of the sizes
    size_t chosen_ = kNone;
    std::string plan_text_;
    std::vector<Slot> reads_;  ///< of a recording
    std::vector<Slot> writes_;
    std::unique_ptr<Submission> plain_;
    std::unique_ptr<Submission> timed_;  ///< the same with timestamps
};

}  // namespace

std::unique_ptr<Engine> make_compute_engine(Device& device, const ParsedFile& file,
                                            const DeviceTraits& traits, const Graphs& graphs,
                                            Ports ports) {
    return std::make_unique<ComputeEngine>(device, file, traits, graphs, ports);
}

}  // namespace arm_runtime::vgf
