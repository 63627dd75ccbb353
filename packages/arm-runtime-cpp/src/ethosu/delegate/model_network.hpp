// Networks on the functional model.
#pragma once

#include "arm_runtime/ethosu_model.hpp"
#include "network.hpp"

namespace arm_runtime::ethosu {

/// As `open_network`. The accelerator is the one that the payload was compiled for.
/// fast_memory_size: bytes of the memory that Vela calls fast scratch, region 2.
Network* open_on_model(const Payload& payload, const Allocator& allocator,
                       const EthosUWorkers& workers, size_t fast_memory_size, Report report);

}  // namespace arm_runtime::ethosu
