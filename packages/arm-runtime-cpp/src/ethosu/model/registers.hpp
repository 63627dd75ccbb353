// The register file: what SET commands left. Registers keep their values from one operation to the
// next.
#pragma once

#include <cstdint>

#include "opcodes.hpp"

namespace arm_runtime::ethosu {

class Registers {
  public:
    static constexpr uint32_t kShortFirst = 256, kShortCount = 144, kLongCount = 152;

    void set(R16 r, uint16_t value) {
        short_[index(r)] = value;
        short_set_[index(r)] = true;
    }
    void set(R32 r, uint32_t value, uint16_t parameter) {
        long_[index(r)] = {value, parameter, true};
    }
    bool has(R16 r) const { return short_set_[index(r)]; }
    bool has(R32 r) const { return long_[index(r)].set; }
    uint16_t operator[](R16 r) const { return short_[index(r)]; }
    uint32_t operator[](R32 r) const { return long_[index(r)].value; }
    uint16_t parameter(R32 r) const { return long_[index(r)].parameter; }

    /// The size that a register named ..._M1 means.
    int64_t size(R16 r) const { return int64_t{short_[index(r)]} + 1; }
    int64_t signed16(R16 r) const { return static_cast<int16_t>(short_[index(r)]); }
    /// An address of 40 bits: 32 in the value, the upper ones in the parameter.
    int64_t address(R32 r) const {
        return static_cast<int64_t>(long_[index(r)].value) |
               static_cast<int64_t>(long_[index(r)].parameter & 0xFF) << 32;
    }
    /// A distance in bytes, which may be negative.
    int64_t stride(R32 r) const { return static_cast<int32_t>(long_[index(r)].value); }

  private:
    struct Long {
        uint32_t value = 0;
        uint16_t parameter = 0;
        bool set = false;
    };
    static uint32_t index(R16 r) { return static_cast<uint32_t>(r) - kShortFirst; }
    static uint32_t index(R32 r) { return static_cast<uint32_t>(r); }

    uint16_t short_[kShortCount] = {};
    bool short_set_[kShortCount] = {};
    Long long_[kLongCount] = {};
};

}  // namespace arm_runtime::ethosu
