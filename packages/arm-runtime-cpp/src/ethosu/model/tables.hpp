// Tables in on-chip memory, put there by DMA.
#pragma once

#include "machine.hpp"

namespace arm_runtime::ethosu {

/// Where table `number` lies, for elements of `element` bytes.
bool find_table(Machine& m, uint32_t number, uint32_t element, int& base);

/// Replaces clipped values by their entries.
void look_up(const uint8_t* table, uint32_t element, bool is_signed, int32_t* values,
             int64_t count);

}  // namespace arm_runtime::ethosu
