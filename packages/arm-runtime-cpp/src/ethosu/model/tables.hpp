// Tables in on-chip memory, put there by DMA.
#pragma once

#include "machine.hpp"

namespace arm_runtime::ethosu {

/// What a table takes and gives. Those of 16-bit values have 512 entries of base and slope and
/// interpolate; the others have 256 entries.
enum class TableKind : uint8_t {
    kNone,
    kU8ToU8,
    kS8ToS8,
    kS8ToS16,
    kS8ToS32,
    kS16ToS16,
    kS16ToS32
};

struct Table {
    TableKind kind = TableKind::kNone;
    const uint8_t* data = nullptr;
};

/// Finds table `number`: tables of U55 and U65 lie in slots of 256 bytes, those of U85 in slots of
/// their own size.
bool find_table(Machine& m, TableKind kind, uint32_t number, Table& table);

/// Replaces values by their entries.
void look_up(const Table& table, int32_t* values, int64_t count);

}  // namespace arm_runtime::ethosu
