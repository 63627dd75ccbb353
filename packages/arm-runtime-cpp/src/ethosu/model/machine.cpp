#include "machine.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "formats.hpp"

namespace arm_runtime::ethosu {

void* Workspace::take(uint64_t bytes) {
    constexpr uint64_t kAlignment = 64;
    constexpr uint64_t kLimit = uint64_t{1} << 62;
    const uint64_t rounded =
        bytes > kLimit ? kLimit : (bytes + kAlignment - 1) / kAlignment * kAlignment;
    const uint64_t at = used_;
    used_ = used_ > kLimit - rounded ? kLimit : used_ + rounded;
    peak_ = std::max(peak_, used_);
    const uintptr_t skew =
        (kAlignment - reinterpret_cast<uintptr_t>(data_) % kAlignment) % kAlignment;
    if (data_ == nullptr || used_ + skew > size_) return nullptr;
    return data_ + skew + at;
}

namespace {

/// Appends to a text of fixed size, cutting it where that is full.
class Text {
  public:
    Text(char* data, size_t size) : data_(data), size_(size) {}
    void add(const char* format, ...) __attribute__((format(printf, 2, 3))) {
        va_list arguments;
        va_start(arguments, format);
        add_list(format, arguments);
        va_end(arguments);
    }
    void add_list(const char* format, va_list arguments) {
        if (used_ >= size_) return;
        const int written = std::vsnprintf(data_ + used_, size_ - used_, format, arguments);
        if (written > 0) used_ += static_cast<size_t>(written);
    }

  private:
    char* data_;
    size_t size_;
    size_t used_ = 0;
};

}  // namespace

bool Machine::fail(EthosUFaultCode code, const char* reason, ...) {
    if (failed.exchange(true)) return false;
    fault->code = code;
    Text text(fault->text, sizeof(fault->text));
    text.add("command %" PRIu32 " (%s, word %" PRIu32 "): ", fault->command_index, command,
             fault->word_index);
    va_list arguments;
    va_start(arguments, reason);
    text.add_list(reason, arguments);
    va_end(arguments);
    text.add("; registers:");
    for (uint32_t i = 0; i < Registers::kShortCount; ++i) {
        const uint32_t code16 = Registers::kShortFirst + i;
        const char* name = short_command_name(is_u85(), code16);
        const auto r16 = static_cast<R16>(code16);
        if (name != nullptr && r.has(r16))
            text.add(" %s=%u", name + std::strlen("NPU_SET_"), unsigned{r[r16]});
    }
    for (uint32_t code32 = 0; code32 < Registers::kLongCount; ++code32) {
        const char* name = long_command_name(is_u85(), code32);
        const auto r32 = static_cast<R32>(code32);
        if (name == nullptr || !r.has(r32)) continue;
        text.add(" %s=0x%" PRIx32, name + std::strlen("NPU_SET_"), r[r32]);
        if (r.parameter(r32) != 0) text.add("(%u)", unsigned{r.parameter(r32)});
    }
    return false;
}

bool Machine::need_one(R16 register16) {
    return r.has(register16) ||
           fail(EthosUFaultCode::kRegister, "%s was never set",
                short_command_name(is_u85(), static_cast<uint32_t>(register16)));
}

bool Machine::need_one(R32 register32) {
    return r.has(register32) ||
           fail(EthosUFaultCode::kRegister, "%s was never set",
                long_command_name(is_u85(), static_cast<uint32_t>(register32)));
}

bool Machine::inside(uint32_t region, int64_t address, int64_t size, const char* what) {
    if (region > 7 || regions[region].data == nullptr) {
        fail(EthosUFaultCode::kAddress, "%s is in region %u, of which there is no memory", what,
             unsigned{region});
        return false;
    }
    const auto limit = static_cast<int64_t>(regions[region].size);
    if (address >= 0 && size >= 0 && size <= limit && address <= limit - size) return true;
    fail(EthosUFaultCode::kAddress,
         "%s: %" PRId64 " bytes at %" PRId64 " are outside region %u of %" PRId64 " bytes", what,
         size, address, unsigned{region}, limit);
    return false;
}

bool Machine::check_access(uint32_t region, int64_t first, int64_t size, bool write,
                           const char* what) {
    if (planning || size <= 0) return true;
    auto kind = Hazards::Kind::kKernel;
    uint32_t index = 0;
    if (!hazards.conflicts({region, write, first, first + size}, kind, index)) return true;
    return fail(EthosUFaultCode::kHazard,
                "%s: %s bytes %" PRId64 " to %" PRId64
                " of region %u, which the %s of command %" PRIu32
                " may still be using: there is no wait for it",
                what, write ? "writes" : "reads", first, first + size, unsigned{region},
                kind == Hazards::Kind::kKernel ? "operation" : "transfer", index);
}

const uint8_t* Machine::addressable(uint32_t region, int64_t address, int64_t size,
                                    const char* what) {
    return inside(region, address, size, what) ? regions[region].data + address : nullptr;
}

const uint8_t* Machine::readable(uint32_t region, int64_t address, int64_t size, const char* what) {
    if (!inside(region, address, size, what)) return nullptr;
    const EthosURegion& memory = regions[region];
    if (memory.written != nullptr) {
        const void* gap = std::memchr(memory.written + address, 0, static_cast<size_t>(size));
        if (gap != nullptr) {
            fail(EthosUFaultCode::kUnwritten,
                 "%s reads byte %" PRId64 " of region %u, which nobody wrote", what,
                 static_cast<int64_t>(static_cast<const uint8_t*>(gap) - memory.written),
                 unsigned{region});
            return nullptr;
        }
    }
    return memory.data + address;
}

uint8_t* Machine::writable(uint32_t region, int64_t address, int64_t size, const char* what) {
    if (!inside(region, address, size, what)) return nullptr;
    const EthosURegion& memory = regions[region];
    if (memory.read_only) {
        fail(EthosUFaultCode::kAddress, "%s writes to region %u, which is read-only", what,
             unsigned{region});
        return nullptr;
    }
    if (memory.written != nullptr)
        std::memset(memory.written + address, 1, static_cast<size_t>(size));
    return memory.data + address;
}

}  // namespace arm_runtime::ethosu
