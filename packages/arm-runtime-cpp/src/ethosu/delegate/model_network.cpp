#include "model_network.hpp"

#include <cstring>
#include <new>

namespace arm_runtime::ethosu {
namespace {

size_t aligned(size_t size) {
    return (size + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
}

class ModelNetwork final : public Network {
  public:
    ModelNetwork(const Payload& payload, const EthosUWorkers& workers, size_t fast_memory_size)
        : payload_(payload), workers_(workers), fast_memory_size_(fast_memory_size) {}

    bool plan(Report report) {
        Container container;
        if (const char* problem = read_commands(payload_, container)) {
            report(problem);
            return false;
        }
        // EthosUFamily counts as products do.
        program_.family = static_cast<EthosUFamily>(container.product());
        program_.macs = container.macs();
        program_.commands = payload_.commands.data;
        program_.size = payload_.commands.size;
        if (ethosu_model_plan(program_, workers_.workers, workspace_size_, fault_)) return true;
        report(fault_.text);
        return false;
    }

    size_t temporary_size() const override {
        return 2 * (aligned(payload_.scratch_size) + aligned(fast_memory_size_)) + workspace_size_;
    }

    uint8_t* scratch(uint8_t* temporary, Report) override { return temporary; }

    bool run(uint8_t* temporary, Report report) override {
        EthosUMemory memory;
        // The model does not write to read-only regions.
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
        memory.regions[0] = {const_cast<uint8_t*>(payload_.weights.data), payload_.weights.size,
                             true, nullptr};
        memory.regions[1] = tracked(temporary, payload_.scratch_size);
        memory.regions[2] = tracked(temporary, fast_memory_size_);
        memory.workspace = temporary;
        memory.workspace_size = workspace_size_;
        for (uint32_t i = 0; i < payload_.inputs.count(); ++i)
            if (const Slot slot = payload_.inputs[i]; slot.placed)
                std::memset(memory.regions[1].written + slot.offset, 1, slot.size);
        fault_ = {};
        if (ethosu_model_run(program_, memory, workers_, fault_)) return true;
        report(fault_.text);
        return false;
    }

  private:
    /// A region at `memory`, and behind it the marks of what has been written; moves `memory` on.
    static EthosURegion tracked(uint8_t*& memory, size_t size) {
        const EthosURegion region{memory, size, false, memory + aligned(size)};
        std::memset(region.written, 0, size);
        memory += 2 * aligned(size);
        return region;
    }

    const Payload& payload_;
    EthosUWorkers workers_;
    size_t fast_memory_size_;
    size_t workspace_size_ = 0;
    EthosUProgram program_;
    EthosUFault fault_;
};

}  // namespace

Network* open_on_model(const Payload& payload, const Allocator& allocator,
                       const EthosUWorkers& workers, size_t fast_memory_size, Report report) {
    void* memory = allocator.take(allocator.context, sizeof(ModelNetwork), alignof(ModelNetwork));
    if (memory == nullptr) {
        report("no memory for the functional model");
        return nullptr;
    }
    auto* network = new (memory) ModelNetwork(payload, workers, fast_memory_size);
    if (network->plan(report)) return network;
    network->~ModelNetwork();
    return nullptr;
}

}  // namespace arm_runtime::ethosu
