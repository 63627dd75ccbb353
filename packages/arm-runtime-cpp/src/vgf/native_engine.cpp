// The engine on VK_ARM_data_graph and VK_ARM_tensors.
#include "engine.hpp"
#include "pipelines.hpp"
#include "storage.hpp"
#include "submission.hpp"

namespace arm_runtime::vgf {
namespace {

class NativeEngine : public Engine {
  public:
    NativeEngine(Device& device, const Program& program)
        : device_(device),
          program_(program),
          storage_(device, program),
          submission_(device, static_cast<uint32_t>(program.segments.size()) + 1) {
        std::vector<Scratch> scratch;
        for (uint32_t i = 0; i < program.segments.size(); ++i) {
            pipelines_.push_back(std::make_unique<Pipeline>(device, program, i));
            for (const Scratch& needs : pipelines_.back()->scratch()) scratch.push_back(needs);
        }
        storage_.bind(scratch);
        for (const auto& pipeline : pipelines_) pipeline->bind(storage_);
        if (!program.takes_push_constants()) record();
    }

    uint8_t* input(size_t index) override {
        return storage_.mapped(program_.inputs[index].resource);
    }
    const uint8_t* output(size_t index) override {
        return storage_.mapped(program_.outputs[index].resource);
    }
    const MemoryUse& memory() const override { return storage_.use(); }
    const std::string& plan() const override { return no_plan_; }

    void push(uint32_t segment, const uint8_t* bytes) override {
        pipelines_[segment]->push(bytes);
        recorded_ = false;
    }

    void run(std::vector<Event>* profile) override {
        if (!recorded_) record();
        submission_.run();
        if (profile == nullptr) return;
        const auto times = submission_.times(static_cast<uint32_t>(pipelines_.size()) + 1);
        for (size_t i = 0; i + 1 < times.size(); ++i) {
            profile->push_back({program_.segments[i].name.c_str(), true, times[i], times[i + 1]});
        }
    }

  private:
    void record() {
        const DeviceCalls& calls = device_.calls();
        const VkCommandBuffer commands = submission_.begin();
        timestamp(commands, 0);
        for (uint32_t i = 0; i < pipelines_.size(); ++i) {
            pipelines_[i]->record(commands);
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
            calls.CmdPipelineBarrier2(commands, &dependency);
            timestamp(commands, i + 1);
        }
        submission_.end();
        recorded_ = true;
    }

    void timestamp(VkCommandBuffer commands, uint32_t query) {
        if (!submission_.queries()) return;
        device_.calls().CmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                                           submission_.queries(), query);
    }

    Device& device_;
    const Program& program_;
    Storage storage_;
    std::vector<std::unique_ptr<Pipeline>> pipelines_;
    Submission submission_;
    bool recorded_ = false;
    const std::string no_plan_ = "[]";
};

}  // namespace

std::unique_ptr<Engine> make_native_engine(Device& device, const Program& program) {
    return std::make_unique<NativeEngine>(device, program);
}

}  // namespace arm_runtime::vgf
