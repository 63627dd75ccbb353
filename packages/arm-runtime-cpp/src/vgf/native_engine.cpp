// The engine on VK_ARM_data_graph and VK_ARM_tensors.
#include "engine.hpp"
#include "pipelines.hpp"
#include "storage.hpp"
#include "submission.hpp"

namespace arm_runtime::vgf {
namespace {

class NativeEngine : public Engine {
  public:
    NativeEngine(Device& device, const ParsedFile& file)
        : program_(file.program),
          storage_(device, program_),
          submission_(device, static_cast<uint32_t>(program_.segments.size()) + 1) {
        std::vector<Scratch> scratch;
        for (uint32_t i = 0; i < program_.segments.size(); ++i) {
            pipelines_.push_back(std::make_unique<Pipeline>(device, program_, i, file.code[i]));
            for (const Scratch& needs : pipelines_.back()->scratch()) scratch.push_back(needs);
        }
        storage_.bind(scratch, file.uploads);
        for (const auto& pipeline : pipelines_) pipeline->bind(storage_);
        if (!program_.takes_push_constants()) record();
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
        using Stage = vk::PipelineStageFlagBits2;
        using Access = vk::AccessFlagBits2;
        const vk::raii::CommandBuffer& commands = submission_.begin();
        Images& images = storage_.images();
        images.begin();
        submission_.timestamp(0);
        for (uint32_t i = 0; i < pipelines_.size(); ++i) {
            images.prepare(commands, program_.segments[i]);
            pipelines_[i]->record(commands);
            // Before what reads the results: the next segment, which also may reuse memory, or the
            // host.
            const auto everything = Access::eMemoryRead | Access::eMemoryWrite;
            auto barrier = vk::MemoryBarrier2()
                               .setSrcStageMask(Stage::eAllCommands)
                               .setSrcAccessMask(everything)
                               .setDstStageMask(Stage::eAllCommands)
                               .setDstAccessMask(everything);
            if (i + 1 == pipelines_.size()) {
                images.finish(commands);
                barrier.setDstStageMask(Stage::eHost).setDstAccessMask(Access::eHostRead);
            }
            commands.pipelineBarrier2(vk::DependencyInfo().setMemoryBarriers(barrier));
            submission_.timestamp(i + 1);
        }
        submission_.end();
        recorded_ = true;
    }

    const Program program_;
    Storage storage_;
    std::vector<std::unique_ptr<Pipeline>> pipelines_;
    Submission submission_;
    bool recorded_ = false;
    const std::string no_plan_ = "[]";
};

}  // namespace

std::unique_ptr<Engine> make_native_engine(Device& device, const ParsedFile& file) {
    return std::make_unique<NativeEngine>(device, file);
}

}  // namespace arm_runtime::vgf
