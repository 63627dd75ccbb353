#include "container.hpp"

namespace arm_runtime::ethosu {
namespace {

constexpr uint32_t kCop1 = 0x31504F43, kCop2 = 0x32504F43;  // "COP1", "COP2"

const char* read_cop1(Words words, Container& container) {
    enum Action : uint32_t { kReserved = 0, kConfig = 1, kCommandStream = 2, kNop = 5 };
    constexpr size_t kConfigWords = 3;  // tag, configuration, identity
    for (size_t at = 1; at < words.size();) {
        const uint32_t word = words[at];
        switch (word & 0xFF) {
            case kReserved:
            case kNop:
                at += 1;
                break;
            case kConfig:
                if (words.size() - at < kConfigWords)
                    return "the payload ends inside its configuration";
                container.configuration = words[at + 1];
                container.configured = true;
                at += kConfigWords;
                break;
            case kCommandStream: {
                const size_t length = (word >> 8 & 0xFF) << 16 | word >> 16;
                if (length > words.size() - at - 1)
                    return "the command stream is longer than the payload";
                container.stream = words.part(at + 1, length);
                return nullptr;
            }
            default:
                return "the payload has an unknown driver action";
        }
    }
    return "the payload has no command stream";
}

/// Magic, version, length (8 bytes), then entries: kind, length, data. Those of a command stream
/// begin with its metadata: length; "VEUM", version, length, configuration, and more; padding. Vela
/// writes one entry.
const char* read_cop2(Words words, Container& container) {
    constexpr size_t kEntry = 4, kMetadata = 7, kConfiguration = 10;
    constexpr uint32_t kVersion = 1, kCommandStream = 1, kVeum = 0x4D554556;
    if (words.size() <= kConfiguration) return "the payload is too short for COP2";
    if (words[1] != kVersion) return "the payload is COP2 of an unknown version";
    if (words[kEntry] != kCommandStream || words[kMetadata] != kVeum)
        return "the payload has no command stream";
    const size_t length = words[kEntry + 1], metadata = words[kEntry + 2];
    if (length % 4 != 0 || metadata % 4 != 0 || metadata / 4 <= kConfiguration - kMetadata ||
        length / 4 <= metadata / 4)
        return "the command stream has a length that is none";
    if (length / 4 > words.size() - (kMetadata - 1))
        return "the command stream is longer than the payload";
    container.configuration = words[kConfiguration];
    container.configured = true;
    container.stream = words.part(kMetadata + metadata / 4, length / 4 - 1 - metadata / 4);
    return nullptr;
}

}  // namespace

const char* read_container(const uint8_t* payload, size_t size, Container& container) {
    if (payload == nullptr || size < 8 || size % 4 != 0)
        return "the payload is not a whole number of words, two at least";
    const Words words(payload, size / 4);
    if (words[0] == kCop1) return read_cop1(words, container);
    if (words[0] == kCop2) return read_cop2(words, container);
    return "the payload does not begin with COP1 or COP2";
}

}  // namespace arm_runtime::ethosu
