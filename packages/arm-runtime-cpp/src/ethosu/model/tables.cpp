#include "tables.hpp"

#include <cstddef>
#include <cstring>

namespace arm_runtime::ethosu {
namespace {

template <typename Entry>
int32_t entry(const uint8_t* table, int32_t index) {
    Entry value;
    std::memcpy(&value, table + index * static_cast<ptrdiff_t>(sizeof(Entry)), sizeof(Entry));
    return value;
}

/// 7 bits of fraction between an entry and the next.
int32_t interpolate(const uint8_t* table, int32_t value, bool wide) {
    const int32_t at = 2 * (((value >> 7) + 256) & 511), fraction = value & 127;
    const int32_t base = entry<int16_t>(table, at), slope = entry<int16_t>(table, at + 1);
    if (wide) return base * 128 + slope * fraction;
    const int32_t result = base + ((slope * fraction + 64) >> 7);
    return result < INT16_MIN ? INT16_MIN : result > INT16_MAX ? INT16_MAX : result;
}

uint32_t bytes(TableKind kind) {
    switch (kind) {
        case TableKind::kS8ToS16:
            return 512;
        case TableKind::kS8ToS32:
            return 1024;
        case TableKind::kS16ToS16:
        case TableKind::kS16ToS32:
            return 2048;
        default:
            return 256;
    }
}

}  // namespace

bool find_table(Machine& m, TableKind kind, uint32_t number, Table& table) {
    const uint32_t size = bytes(kind), at = number * (m.is_u85() ? size : 256);
    if (at + size > kTableMemory) {
        return m.fail(EthosUFaultCode::kAddress,
                      "table %u of %u bytes is beyond the tables' memory", unsigned{number},
                      unsigned{size});
    }
    const int64_t first = m.accelerator->on_chip_size - kTableMemory + at;
    if (!m.check_access(kOnChip, first, size, false, "table")) return false;
    table = {kind, m.planning ? nullptr : m.on_chip + first};
    return true;
}

void look_up(const Table& table, int32_t* values, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        const int32_t value = values[i], unsigned_index = value & 0xFF,
                      signed_index = (value + 128) & 0xFF;
        switch (table.kind) {
            case TableKind::kNone:
                break;
            case TableKind::kU8ToU8:
                values[i] = entry<uint8_t>(table.data, unsigned_index);
                break;
            case TableKind::kS8ToS8:
                values[i] = entry<int8_t>(table.data, signed_index);
                break;
            case TableKind::kS8ToS16:
                values[i] = entry<int16_t>(table.data, signed_index);
                break;
            case TableKind::kS8ToS32:
                values[i] = entry<int32_t>(table.data, signed_index);
                break;
            case TableKind::kS16ToS16:
                values[i] = interpolate(table.data, value, false);
                break;
            case TableKind::kS16ToS32:
                values[i] = interpolate(table.data, value, true);
                break;
        }
    }
}

}  // namespace arm_runtime::ethosu
