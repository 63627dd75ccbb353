// Payloads for tests: the block stream, block by block, so that a test can spoil any part of it.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace arm_runtime::ethosu {

inline void put_word(std::vector<uint8_t>& bytes, uint32_t word) {
    for (uint32_t i = 0; i < 4; ++i) bytes.push_back(static_cast<uint8_t>(word >> (8 * i)));
}

inline std::vector<uint8_t> words(const std::vector<uint32_t>& values) {
    std::vector<uint8_t> bytes;
    for (const uint32_t value : values) put_word(bytes, value);
    return bytes;
}

/// A table of inputs or outputs: rows of shape[6], bytes per element, offset, region.
inline std::vector<uint8_t> slot_table(const std::vector<std::vector<int32_t>>& rows) {
    std::vector<uint8_t> bytes;
    put_word(bytes, static_cast<uint32_t>(rows.size()));
    for (const std::vector<int32_t>& row : rows)
        for (const int32_t value : row) put_word(bytes, static_cast<uint32_t>(value));
    return bytes;
}

struct StreamBlock {
    std::string name;
    std::vector<uint8_t> data;
    uint8_t reference = 0;
};

inline std::vector<uint8_t> serialized(const std::vector<StreamBlock>& blocks) {
    std::vector<uint8_t> bytes;
    for (const StreamBlock& block : blocks) {
        const size_t start = bytes.size();
        bytes.insert(bytes.end(), block.name.begin(), block.name.end());
        bytes.resize(start + 16);
        put_word(bytes, static_cast<uint32_t>(block.data.size()));
        bytes.push_back(block.reference);
        bytes.resize(start + 32);
        bytes.insert(bytes.end(), block.data.begin(), block.data.end());
        bytes.resize((bytes.size() + 15) / 16 * 16);
    }
    return bytes;
}

/// COP1 for an Ethos-U55 with 128 MACs.
inline std::vector<uint8_t> driver_payload(const std::vector<uint32_t>& commands) {
    std::vector<uint8_t> bytes =
        words({0x31504F43, 1, 0x00000007, 0, 2 | static_cast<uint32_t>(commands.size()) << 16});
    for (const uint32_t command : commands) put_word(bytes, command);
    return bytes;
}

/// 32 bytes of scratch memory: the input [4] int16 at 0, the output [8] int8 at 16.
inline std::vector<StreamBlock> sound_blocks(const std::vector<uint32_t>& commands) {
    return {
        {"vela_bin_stream", {}},
        {"cmd_data", driver_payload(commands)},
        {"weight_data", {1, 2, 3}},
        {"scratch_size", words({32})},
        {"inputs", slot_table({{1, 1, 1, 1, 1, 4, 2, 0, 1}})},
        {"outputs", slot_table({{1, 1, 1, 1, 1, 8, 1, 16, 1}, {1, 1, 1, 1, 1, 3, 4, -1, 1}})},
        {"vela_end_stream", {}},
    };
}

}  // namespace arm_runtime::ethosu
