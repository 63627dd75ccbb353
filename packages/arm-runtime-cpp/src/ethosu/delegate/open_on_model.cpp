// Bare metal without an Ethos-U: networks run on the functional model, on the one core there is.
#include "model_network.hpp"

namespace arm_runtime::ethosu {

void prepare_log() {}

Network* open_network(const Payload& payload, const Allocator& allocator, Report report) {
    constexpr size_t kNoFastMemory = 0;
    return open_on_model(payload, allocator, {}, kNoFastMemory, report);
}

}  // namespace arm_runtime::ethosu
