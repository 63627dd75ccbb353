// The container in which Vela wraps a command stream: "COP1", then driver actions.
#pragma once

#include "payload.hpp"

namespace arm_runtime::ethosu {

/// What the actions hold. `configuration` is the value that the NPU's CONFIG register must have in
/// the bits that say which accelerator it is: log2 of the MACs in bits 3 to 0, the product in bits
/// 31 to 28 (0, 1, 2 for U55, U65, U85).
struct DriverActions {
    uint32_t configuration = 0;
    Bytes stream;  ///< the commands themselves, whole words

    uint32_t product() const { return configuration >> 28; }
    uint32_t macs() const { return uint32_t{1} << (configuration & 0xF); }
};

/// Reads the first configuration and the first command stream. Returns nullptr, or what is wrong.
const char* read_driver_actions(Bytes commands, DriverActions& actions);

}  // namespace arm_runtime::ethosu
