#include "driver_actions.hpp"

#include <cstring>

namespace arm_runtime::ethosu {

const char* read_driver_actions(Bytes commands, DriverActions& actions) {
    enum : uint32_t { kReserved = 0, kConfiguration = 1, kCommandStream = 2, kNop = 5 };
    constexpr size_t kConfigurationWords = 3;
    const size_t words = commands.size / 4;
    const auto word = [&](size_t index) {
        uint32_t value;
        std::memcpy(&value, commands.data + 4 * index, sizeof value);
        return value;
    };
    if (words == 0 || std::memcmp(commands.data, "COP1", 4) != 0)
        return "the command stream does not begin with COP1; compile without --cop-format";
    bool configured = false;
    for (size_t at = 1; at < words;) {
        const uint32_t action = word(at);
        switch (action & 0xFF) {
            case kReserved:
            case kNop:
                ++at;
                break;
            case kConfiguration:
                if (words - at < kConfigurationWords)
                    return "the command stream ends inside its configuration";
                actions.configuration = word(at + 1);
                configured = true;
                at += kConfigurationWords;
                break;
            case kCommandStream: {
                const size_t length = (action >> 8 & 0xFF) << 16 | action >> 16;
                if (length > words - at - 1) return "the command stream is longer than the payload";
                if (!configured)
                    return "the command stream does not say for which accelerator it is";
                actions.stream = {commands.data + 4 * (at + 1), 4 * length};
                return nullptr;
            }
            default:
                return "the command stream has an unknown driver action";
        }
    }
    return "the payload has no command stream";
}

}  // namespace arm_runtime::ethosu
