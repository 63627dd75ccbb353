// Bare metal with an Ethos-U: networks run on Arm's core driver, ethos-u-core-driver 0.16 or later.
#include <ethosu_driver.h>

#include <new>

#include "network.hpp"

// Firmware that gives Vela's fast scratch memory to the NPU defines these; names and meaning are
// those that ExecuTorch's own delegate looks for.
extern "C" {
__attribute__((weak)) unsigned char* ethosu_fast_scratch = nullptr;
__attribute__((weak)) size_t ethosu_fast_scratch_size = 0;
}

namespace arm_runtime::ethosu {
namespace {

bool is_aligned(const void* memory) {
    return reinterpret_cast<uintptr_t>(memory) % kMemoryAlignment == 0;
}

class CoreDriverNetwork final : public Network {
  public:
    explicit CoreDriverNetwork(const Payload& payload) : payload_(payload) {}

    size_t temporary_size() const override { return payload_.scratch_size; }

    uint8_t* scratch(uint8_t* temporary, Report) override { return temporary; }

    bool run(uint8_t* temporary, Report report) override {
        // Vela's regions: weights, scratch, fast scratch.
        constexpr int kRegions = 3;
        uint64_t addresses[kRegions] = {address(payload_.weights.data), address(temporary),
                                        address(ethosu_fast_scratch)};
        const size_t sizes[kRegions] = {payload_.weights.size, payload_.scratch_size,
                                        ethosu_fast_scratch_size};
        ethosu_driver* driver = ethosu_reserve_driver();
        if (driver == nullptr) {
            report("the core driver has no Ethos-U to reserve: was ethosu_init called?");
            return false;
        }
        const int status = ethosu_invoke_v3(driver, payload_.commands.data,
                                            static_cast<int>(payload_.commands.size), addresses,
                                            sizes, kRegions, nullptr);
        ethosu_release_driver(driver);
        if (status != 0) report("the core driver could not run the command stream");
        return status == 0;
    }

  private:
    static uint64_t address(const void* memory) { return reinterpret_cast<uintptr_t>(memory); }

    const Payload& payload_;
};

}  // namespace

void prepare_log() {}

Network* open_network(const Payload& payload, const Allocator& allocator, Report report) {
    if (!is_aligned(payload.commands.data) || !is_aligned(payload.weights.data)) {
        report(
            "the payload is not at a multiple of 16 bytes, which the NPU needs: align the program");
        return nullptr;
    }
    void* memory =
        allocator.take(allocator.context, sizeof(CoreDriverNetwork), alignof(CoreDriverNetwork));
    if (memory != nullptr) return new (memory) CoreDriverNetwork(payload);
    report("no memory for the core driver");
    return nullptr;
}

}  // namespace arm_runtime::ethosu
