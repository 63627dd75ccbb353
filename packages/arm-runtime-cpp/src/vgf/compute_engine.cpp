// The engine on kernels of our own: four buffers, one descriptor set, one command buffer.
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "compute_plan.hpp"
#include "device_buffer.hpp"
#include "engine.hpp"
#include "images.hpp"
#include "kernel_layout.hpp"
#include "kernels/steps.h"
#include "pipelines.hpp"
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
    ComputeEngine(Device& device, const ParsedFile& file, ComputePlan plan, const Use& use)
        : device_(device),
          program_(file.program),
          used_(use),
          slots_(std::move(plan.slots)),
          use_(plan.use),
          images_(device, program_),
          plan_text_(std::move(plan.text)) {
        for (std::vector<Dispatch>& dispatches : plan.dispatches) {
            variants_.push_back({std::move(dispatches), {}, {}});
        }
        make_buffers(plan.constants);
        images_.allocate(*this);
        layout_ = std::make_unique<KernelLayout>(device, buffers_, !use.states.empty());
        make_pipelines(file);
        if (!program_.takes_push_constants())
            choose(variants_.size() - 1);  // else when they are there
        use_.work += images_.bytes();
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
        if (used_.ports == Ports::kHost) record(variants_[number]);
        chosen_ = number;
    }

    void record(const vk::raii::CommandBuffer& commands) override {
        record(variants_[chosen_], commands, nullptr);
        images_.finish(commands);
    }
    void swap() override { swapped_ = !swapped_; }

    bool needs_upload() const override { return upload_.has_value(); }
    void record_upload(const vk::raii::CommandBuffer& commands) override {
        if (upload_) upload_->record(commands);
    }
    void end_upload() override { upload_.reset(); }

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
        std::vector<bool> waits;              ///< by dispatch: a barrier is before it
    };

    uint8_t* mapped(uint32_t resource) const {
        const Slot& slot = slots_[resource];
        return buffers_[slot.buffer].memory.mapped + slot.offset;
    }

    TensorViewHandle view(uint32_t) const override { return {}; }  // plan_shader refuses tensors
    vk::DescriptorBufferInfo buffer(uint32_t resource) const override {
        const Slot& slot = slots_[resource];
        uint32_t place = slot.buffer;
        if (swapped_ && place == BUFFER_INPUTS) {
            place = BUFFER_OUTPUTS;
        } else if (swapped_ && place == BUFFER_OUTPUTS) {
            place = BUFFER_INPUTS;
        }
        return {*buffers_[place].handle, slot.offset, program_.resources[resource].bytes};
    }

    vk::DescriptorImageInfo image(uint32_t resource) const override {
        return images_.descriptor(resource);
    }

    void make_buffers(const std::vector<uint8_t>& constants) {
        const bool of_host = used_.ports == Ports::kHost;
        const bool mapped = of_host && shares_inputs(device_, program_, used_);
        make_buffer(BUFFER_WORK, use_.work,
                    mapped ? device_.direct_memory() : vk::MemoryPropertyFlags(),
                    vk::MemoryPropertyFlagBits::eDeviceLocal);
        const vk::MemoryPropertyFlags required = of_host ? kHostMemory : vk::MemoryPropertyFlags();
        make_buffer(BUFFER_INPUTS, use_.inputs, required, vk::MemoryPropertyFlagBits::eDeviceLocal);
        make_buffer(BUFFER_OUTPUTS, use_.outputs, required,
                    of_host ? vk::MemoryPropertyFlagBits::eHostCached
                            : vk::MemoryPropertyFlagBits::eDeviceLocal);
        if (!of_host && make_direct(constants)) return;
        make_buffer(BUFFER_CONSTANTS, constants.size(), {},
                    vk::MemoryPropertyFlagBits::eDeviceLocal);
        if (constants.empty()) return;
        if (used_.record_upload) {
            upload_.emplace(device_, constants, buffers_[BUFFER_CONSTANTS]);
        } else {
            upload(device_, constants, buffers_[BUFFER_CONSTANTS]);
        }
    }

    /// Whether the constants are where the host writes them and the device reads them.
    bool make_direct(const std::vector<uint8_t>& constants) {
        const vk::MemoryPropertyFlags direct = device_.direct_memory();
        if (!direct || constants.empty()) return false;
        try {
            make_buffer(BUFFER_CONSTANTS, constants.size(), direct, {});
        } catch (const vk::SystemError&) {
            return false;  // there may be room in other memory
        }
        std::memcpy(buffers_[BUFFER_CONSTANTS].memory.mapped, constants.data(), constants.size());
        return true;
    }

    void make_buffer(uint32_t index, uint64_t bytes, vk::MemoryPropertyFlags required,
                     vk::MemoryPropertyFlags preferred) {
        DeviceBuffer& buffer = buffers_[index];
        // Kernels count bytes with 31 bits.
        const uint64_t limit = std::min<uint64_t>(device_.max_buffer_range(), 0x7fffffff);
        static constexpr const char* kWhat[] = {"intermediate values", "constants", "inputs",
                                                "outputs"};
        if (bytes + 2 * kAlignment > limit) {
            throw Error("the program's " + std::string(kWhat[index]) + " take " +
                        std::to_string(bytes) + " bytes; kernels reach " + std::to_string(limit) +
                        " on " + device_.name() +
                        " (2 GiB, or its maxStorageBufferRange if that is less)");
        }
        buffer = make_device_buffer(device_, bytes, required, preferred);
        device_.names().name(*buffer.handle, std::string("arm_vgf: ") + kWhat[index]);
    }

    void make_pipelines(const ParsedFile& file) {
        using Key = std::pair<const void*, std::vector<std::pair<uint32_t, uint32_t>>>;
        std::map<Key, vk::Pipeline> known;
        for (Variant& variant : variants_) {
            for (const Dispatch& dispatch : variant.dispatches) {
                if (dispatch.segment != kNoSegment) {
                    shaders_[dispatch.segment] = std::make_unique<Pipeline>(
                        device_, program_, dispatch.segment, file.code[dispatch.segment]);
                    bind(*shaders_[dispatch.segment]);
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
            find_waits(variant);
        }
    }

    void bind(Pipeline& shader) {
        shader.bind(*this);
        if (used_.states.empty()) return;
        swapped_ = true;
        shader.bind(*this);
        swapped_ = false;
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
        images_.finish(commands);
        barrier(commands, vk::PipelineStageFlagBits::eHost, vk::AccessFlagBits::eHostRead);
        submission.end();
    }

    /// Finds the dispatches that wait for those before them.
    static void find_waits(Variant& variant) {
        std::vector<Slot> reads;  // since the last barrier
        std::vector<Slot> writes;
        for (const Dispatch& dispatch : variant.dispatches) {
            const bool over_others = !dispatch.apart && (overlap(dispatch.writes, writes) ||
                                                         overlap(dispatch.writes, reads));
            const bool waits = over_others || overlap(dispatch.reads, writes);
            variant.waits.push_back(waits);
            if (waits) {
                reads.clear();
                writes.clear();
            }
            reads.insert(reads.end(), dispatch.reads.begin(), dispatch.reads.end());
            writes.insert(writes.end(), dispatch.writes.begin(), dispatch.writes.end());
        }
    }

    /// Records the segments; `submission`, if there is one, notes the time after each dispatch.
    void record(const Variant& variant, const vk::raii::CommandBuffer& commands,
                Submission* submission) {
        images_.begin(commands);
        vk::Pipeline bound;
        size_t segment = 0;
        const auto enter = [&](size_t end) {
            for (; segment < end; ++segment) {
                images_.prepare(commands, program_.segments[segment]);
            }
        };
        for (size_t i = 0; i < variant.dispatches.size(); ++i) {
            const Dispatch& dispatch = variant.dispatches[i];
            enter(dispatch.part + size_t{1});
            if (variant.waits[i]) {
                barrier(commands, vk::PipelineStageFlagBits::eComputeShader,
                        vk::AccessFlagBits::eUniformRead | vk::AccessFlagBits::eShaderRead |
                            vk::AccessFlagBits::eShaderWrite);
            }
            device_.names().begin(*commands, dispatch.text.c_str());
            if (dispatch.segment != kNoSegment) {
                shaders_.at(dispatch.segment)->record(commands, swapped_ ? 1 : 0);
                bound = nullptr;
            } else {
                if (!bound) layout_->bind(commands, swapped_ ? 1 : 0);
                if (variant.pipelines[i] != bound) {
                    bound = variant.pipelines[i];
                    commands.bindPipeline(vk::PipelineBindPoint::eCompute, bound);
                }
                layout_->dispatch(commands, dispatch);
            }
            device_.names().end(*commands);
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
    const Use used_;
    const ResourceSlots slots_;
    MemoryUse use_;
    std::array<DeviceBuffer, kBuffers> buffers_;
    bool swapped_ = false;  ///< inputs lie in the buffer of outputs, and the other way round
    std::optional<StagedUpload> upload_;
    Images images_;
    std::unique_ptr<KernelLayout> layout_;
    std::map<uint32_t, std::unique_ptr<Pipeline>> shaders_;  ///< by segment
    std::vector<vk::raii::Pipeline> pipelines_;
    std::vector<Variant> variants_;  ///< by the number of the sizes
    size_t chosen_ = kNone;
    std::string plan_text_;
    std::unique_ptr<Submission> plain_;
    std::unique_ptr<Submission> timed_;  ///< the same with timestamps
};

}  // namespace

std::unique_ptr<Engine> make_compute_engine(Device& device, const ParsedFile& file,
                                            const DeviceTraits& traits, const Graphs& graphs,
                                            const Use& use) {
    const bool share = shares_inputs(device, file.program, use);
    return std::make_unique<ComputeEngine>(
        device, file, ComputePlan(file, traits, graphs, use.states, share), use);
}

MemoryUse compute_memory(Device& device, const ParsedFile& file, const DeviceTraits& traits,
                         const Graphs& graphs, const Use& use) {
    const bool share = shares_inputs(device, file.program, use);
    MemoryUse memory = ComputePlan(file, traits, graphs, use.states, share).use;
    memory.work += Images(device, file.program).bytes();
    return memory;
}

}  // namespace arm_runtime::vgf
