// The engine on VK_ARM_data_graph and VK_ARM_tensors.
#include <cstring>

#include "device_buffer.hpp"
#include "engine.hpp"
#include "pipelines.hpp"
#include "storage.hpp"
#include "submission.hpp"

namespace arm_runtime::vgf {
namespace {

class NativeEngine : public Engine {
  public:
    NativeEngine(Device& device, const ParsedFile& file, Counting counting)
        : program_(file.program),
          storage_(device, program_),
          submission_(device, static_cast<uint32_t>(program_.segments.size()) + 1) {
        std::vector<Scratch> scratch;
        for (uint32_t i = 0; i < program_.segments.size(); ++i) {
            pipelines_.push_back(
                std::make_unique<Pipeline>(device, program_, i, file.code[i], counting));
            for (const Scratch& needs : pipelines_.back()->scratch()) {
                if (needs.point == kBindPointStatistics) {
                    count(device, needs);
                } else {
                    scratch.push_back(needs);
                }
            }
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

    std::vector<Statistic> statistics() const override {
        std::vector<Statistic> found;
        for (uint32_t i = 0; !counters_.empty() && i < pipelines_.size(); ++i) {
            pipelines_[i]->describe_statistics(found);
            for (const Counter& counter : counters_) {
                if (counter.segment != i) continue;
                const uint8_t* const begin = counter.memory.mapped;
                found.push_back(
                    {program_.segments[i].name, "statistics", {begin, begin + counter.bytes}});
            }
        }
        return found;
    }

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
    /// Where the accelerator leaves what it counts of a segment.
    struct Counter {
        uint32_t segment;
        uint64_t bytes;
        Memory memory;
    };

    /// Gives a graph's session memory for what is counted, which the host sees.
    void count(Device& device, const Scratch& needs) {
        const Counter& counter = counters_.emplace_back(Counter{
            needs.segment, needs.needs.size,
            device.allocate(needs.needs, kHostMemory, vk::MemoryPropertyFlagBits::eHostCached)});
        std::memset(counter.memory.mapped, 0, counter.bytes);
        BindGraphSessionMemoryInfo info;
        info.session = needs.session;
        info.point = needs.point;
        info.object = needs.object;
        info.memory = *counter.memory.handle;
        check(device.arm().BindDataGraphPipelineSessionMemoryARM(*device.vulkan(), 1, &info),
              "vkBindDataGraphPipelineSessionMemoryARM");
    }

    void record() {
        using Stage = vk::PipelineStageFlagBits2;
        using Access = vk::AccessFlagBits2;
        const vk::raii::CommandBuffer& commands = submission_.begin();
        Images& images = storage_.images();
        images.begin(commands);
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
    std::vector<Counter> counters_;  // before the pipelines, whose sessions use them
    std::vector<std::unique_ptr<Pipeline>> pipelines_;
    Submission submission_;
    bool recorded_ = false;
    const std::string no_plan_ = "[]";
};

}  // namespace

std::unique_ptr<Engine> make_native_engine(Device& device, const ParsedFile& file,
                                           Counting counting) {
    if (counting != Counting::kOff && !device.has_statistics()) {
        throw Error(device.name() + " has no " + kStatisticsExtension +
                    ": it tells no statistics; leave them off");
    }
    return std::make_unique<NativeEngine>(device, file, counting);
}

}  // namespace arm_runtime::vgf
