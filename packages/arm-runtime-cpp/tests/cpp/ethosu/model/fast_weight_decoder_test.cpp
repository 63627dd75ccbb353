#include "ethosu/model/fast_weight_decoder.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace arm_runtime::ethosu {
namespace {

using Weights = std::vector<int16_t>;
constexpr uint8_t kRaw = 1, kSmall = 2;

/// A header whose palette is +0, -1, +2, -3, ... (a sign below eight bits of magnitude), and data.
std::vector<uint8_t> stream_of(uint8_t flags, int8_t zero_point, const std::vector<uint8_t>& data) {
    std::vector<uint8_t> stream(32);
    stream[0] = flags;
    stream[13] = static_cast<uint8_t>(zero_point);
    for (uint32_t i = 0; i < 16; ++i) {
        const uint32_t code = 2 * i + i % 2;
        for (uint32_t bit = 0; bit < 9; ++bit) {
            const uint32_t at = 112 + 9 * i + bit;
            stream[at / 8] = static_cast<uint8_t>(stream[at / 8] | (code >> bit & 1) << at % 8);
        }
    }
    stream.insert(stream.end(), data.begin(), data.end());
    return stream;
}

TEST(FastWeightDecoder, Decodes) {
    struct Row {
        const char* name;
        std::vector<uint8_t> stream;
        Weights expected;
    };
    const Row rows[] = {
        {"four bits", stream_of(0, 0, {0x10, 0xFE}), {0, -1, 14, -15}},
        {"two bits", stream_of(kSmall, 0, {0b11'10'01'00}), {0, -1, 2, -3}},
        {"raw, less their zero point", stream_of(kRaw, -128, {0x80, 0x7F, 0x00}), {0, 255, 128}},
        {"raw, whatever the other flag", stream_of(kRaw | kSmall, 1, {0xFF}), {-2}},
        {"a header alone", stream_of(0, 0, {}), {}},
        {"nothing", {}, {}},
    };
    for (const Row& row : rows) {
        Weights out(8);
        const DecodedWeights result =
            decode_fast_weights(row.stream.data(), row.stream.size(), out.data(), out.size());
        EXPECT_STREQ(result.problem, nullptr) << row.name;
        ASSERT_EQ(result.count, row.expected.size()) << row.name;
        out.resize(result.count);
        EXPECT_EQ(out, row.expected) << row.name;
    }
}

TEST(FastWeightDecoder, RefusesAHeaderThatIsCut) {
    const std::vector<uint8_t> cut(31);
    int16_t out = 0;
    EXPECT_STREQ(decode_fast_weights(cut.data(), cut.size(), &out, 1).problem,
                 "no room for its header");
}

TEST(FastWeightDecoder, CountsButNeverWritesWhatIsBeyondTheCapacity) {
    const std::vector<uint8_t> stream = stream_of(0, 0, {0x21, 0x43});
    Weights out = {99, 99};
    EXPECT_EQ(decode_fast_weights(stream.data(), stream.size(), out.data(), 1).count, 4);
    EXPECT_EQ(out, (Weights{-1, 99}));
}

}  // namespace
}  // namespace arm_runtime::ethosu
