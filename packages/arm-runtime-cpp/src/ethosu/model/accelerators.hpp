// The configurations that are built, and what differs between them.
#pragma once

#include "arm_runtime/ethosu_model.hpp"

namespace arm_runtime::ethosu {

struct Accelerator {
    EthosUFamily family;
    uint32_t macs;
    uint32_t weight_streams;  ///< of a convolution: one for each core, or for each decoder on U85
    uint32_t ofm_ublock;      ///< output channels of a micro block; U85 chooses it per operation
    uint32_t dmas;            ///< transfers in flight
    uint32_t on_chip_size;    ///< memory that DMA puts tables into: they are in its last 2 KiB
};

constexpr uint32_t kKernels = 2;  ///< kernels in flight
constexpr uint32_t kTableMemory = 2048, kLargestOnChip = 48 * 1024;

constexpr Accelerator kAccelerators[] = {
    {EthosUFamily::kU55, 32, 1, 4, 1, 16 * 1024},
    {EthosUFamily::kU55, 64, 1, 8, 1, 16 * 1024},
    {EthosUFamily::kU55, 128, 1, 8, 1, 24 * 1024},
    {EthosUFamily::kU55, 256, 1, 8, 1, kLargestOnChip},
    {EthosUFamily::kU65, 256, 1, 8, 2, kLargestOnChip},
    {EthosUFamily::kU65, 512, 2, 8, 2, kLargestOnChip},
    {EthosUFamily::kU85, 128, 1, 0, 4, kTableMemory},
    {EthosUFamily::kU85, 256, 1, 0, 4, kTableMemory},
    {EthosUFamily::kU85, 512, 2, 0, 4, kTableMemory},
    {EthosUFamily::kU85, 1024, 4, 0, 4, kTableMemory},
    {EthosUFamily::kU85, 2048, 4, 0, 4, kTableMemory},
};

}  // namespace arm_runtime::ethosu
