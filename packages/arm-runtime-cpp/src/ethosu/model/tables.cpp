#include "tables.hpp"

#include <cstring>

namespace arm_runtime::ethosu {
namespace {

constexpr uint32_t kTableMemory = 2048, kSlot = 256;

uint32_t word(const uint8_t* table, int32_t index) {
    uint32_t value;
    std::memcpy(&value, table + 4 * index, 4);
    return value;
}

/// 512 entries of slope and base, 7 bits of fraction between them.
int32_t interpolate(const uint8_t* table, int32_t value) {
    const uint32_t entry = word(table, ((value >> 7) + 256) & 511);
    const int32_t base = static_cast<int16_t>(entry), slope = static_cast<int16_t>(entry >> 16);
    const int32_t result = base + ((slope * (value & 127) + 64) >> 7);
    return result < INT16_MIN ? INT16_MIN : result > INT16_MAX ? INT16_MAX : result;
}

}  // namespace

bool find_table(Machine& m, uint32_t number, uint32_t element, int& base) {
    const uint32_t size = element == 1 ? 256 : element == 2 ? 2048 : 1024;
    if (number * kSlot + size > kTableMemory) {
        return m.fail(EthosUFaultCode::kAddress,
                      "table %u of %u bytes is beyond the tables' memory", unsigned{number},
                      unsigned{size});
    }
    base = static_cast<int>(m.shram_size - kTableMemory + number * kSlot);
    return true;
}

void look_up(const uint8_t* table, uint32_t element, bool is_signed, int32_t* values,
             int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        const int32_t value = values[i];
        if (element == 1) {
            const uint8_t entry = table[(is_signed ? value + 128 : value) & 0xFF];
            values[i] = is_signed ? static_cast<int8_t>(entry) : entry;
        } else if (element == 4) {
            values[i] = static_cast<int32_t>(word(table, (value + 128) & 0xFF));
        } else {
            values[i] = interpolate(table, value);
        }
    }
}

}  // namespace arm_runtime::ethosu
