#include "ethosu/model/container.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace arm_runtime::ethosu {
namespace {

constexpr uint32_t kCop1 = 0x31504F43, kCop2 = 0x32504F43, kVeum = 0x4D554556;

/// Of exactly the payload's size, so that the sanitizers see a byte too many that is read.
std::vector<uint8_t> bytes_of(const std::vector<uint32_t>& words) {
    std::vector<uint8_t> bytes;
    for (const uint32_t word : words)
        for (uint32_t i = 0; i < 4; ++i) bytes.push_back(static_cast<uint8_t>(word >> (8 * i)));
    return bytes;
}

/// "COP2" around two commands, for an Ethos-U85 with 256 MACs.
std::vector<uint32_t> cop2() {
    return {kCop2, 1, 0, 0, 1, 4 * 7, 4 * 4, kVeum, 1, 8, 0x20000008, 0x1234, 0x5678};
}

TEST(Container, OfCop1) {
    const std::vector<uint8_t> payload =
        bytes_of({kCop1, 5, 1, 0x10000007, 0xAAAA, 2 | 3u << 16, 10, 11, 12});
    Container found;
    ASSERT_EQ(read_container(payload.data(), payload.size(), found), nullptr);
    EXPECT_TRUE(found.configured);
    EXPECT_EQ(found.product(), 1);
    EXPECT_EQ(found.macs(), 128);
    ASSERT_EQ(found.stream.size(), 3);
    EXPECT_EQ(found.stream[0], 10);
    EXPECT_EQ(found.stream[2], 12);
}

TEST(Container, OfCop2) {
    const std::vector<uint8_t> payload = bytes_of(cop2());
    Container found;
    ASSERT_EQ(read_container(payload.data(), payload.size(), found), nullptr);
    EXPECT_EQ(found.product(), 2);
    EXPECT_EQ(found.macs(), 256);
    ASSERT_EQ(found.stream.size(), 2);
    EXPECT_EQ(found.stream[0], 0x1234);
    EXPECT_EQ(found.stream[1], 0x5678);
}

TEST(Container, SaysWhatIsWrong) {
    const auto changed = [](size_t word, uint32_t value) {
        std::vector<uint32_t> words = cop2();
        words[word] = value;
        return words;
    };
    struct Row {
        std::vector<uint32_t> words;
        const char* problem;
    };
    const Row rows[] = {
        {{kCop1}, "the payload is not a whole number of words, two at least"},
        {{0x33504F43, 0}, "the payload does not begin with COP1 or COP2"},
        {{kCop1, 5, 5}, "the payload has no command stream"},
        {{kCop1, 3}, "the payload has an unknown driver action"},
        {{kCop1, 1, 8}, "the payload ends inside its configuration"},
        {{kCop1, 2 | 2u << 16, 0}, "the command stream is longer than the payload"},
        {{kCop1, 2 | 0xFFFFFF00}, "the command stream is longer than the payload"},
        {{kCop2, 1, 0, 0, 1, 28, 16, kVeum, 1, 8}, "the payload is too short for COP2"},
        {changed(1, 2), "the payload is COP2 of an unknown version"},
        {changed(4, 2), "the payload has no command stream"},
        {changed(7, 0), "the payload has no command stream"},
        {changed(5, 4 * 8), "the command stream is longer than the payload"},
        {changed(5, 0xFFFFFFFC), "the command stream is longer than the payload"},
        {changed(5, 4 * 4), "the command stream has a length that is none"},
        {changed(5, 4 * 7 + 1), "the command stream has a length that is none"},
        {changed(6, 4 * 3), "the command stream has a length that is none"},
        {changed(6, 0xFFFFFFFC), "the command stream has a length that is none"},
    };
    for (const Row& row : rows) {
        const std::vector<uint8_t> payload = bytes_of(row.words);
        Container found;
        EXPECT_STREQ(read_container(payload.data(), payload.size(), found), row.problem);
    }
    Container found;
    EXPECT_STREQ(read_container(nullptr, 64, found), rows[0].problem);
    EXPECT_STREQ(read_container(bytes_of(cop2()).data(), 51, found), rows[0].problem);
}

}  // namespace
}  // namespace arm_runtime::ethosu
