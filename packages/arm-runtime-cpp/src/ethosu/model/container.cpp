#include "container.hpp"

namespace arm_runtime::ethosu {
namespace {

constexpr uint32_t kMagic = 0x31504F43;  // "COP1"
enum Action : uint32_t { kReserved = 0, kConfig = 1, kCommandStream = 2, kNop = 5 };
constexpr size_t kConfigWords = 3;  // tag, configuration, identity

}  // namespace

const char* find_command_stream(const uint8_t* payload, size_t size, Words& stream) {
    if (payload == nullptr || size < 8 || size % 4 != 0)
        return "the payload is not a whole number of words, two at least";
    const Words words(payload, size / 4);
    if (words[0] != kMagic) return "the payload does not begin with COP1";
    size_t at = 1;
    while (at < words.size()) {
        const uint32_t word = words[at];
        switch (word & 0xFF) {
            case kReserved:
            case kNop:
                at += 1;
                break;
            case kConfig:
                at += kConfigWords;
                break;
            case kCommandStream: {
                const size_t length = (word >> 8 & 0xFF) << 16 | word >> 16;
                if (length > words.size() - at - 1)
                    return "the command stream is longer than the payload";
                stream = words.part(at + 1, length);
                return nullptr;
            }
            default:
                return "the payload has an unknown driver action";
        }
    }
    return "the payload has no command stream";
}

}  // namespace arm_runtime::ethosu
