// What bare metal without an Ethos-U runs on.
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "ethosu/delegate/network.hpp"
#include "payload_stream.hpp"

namespace arm_runtime::ethosu {
namespace {

std::string reported;

void report(const char* text) { reported = text; }

uint32_t put(uint32_t code, uint32_t value) { return code | value << 16; }
uint32_t put_long(uint32_t code) { return code | 1 << 14; }

/// Copies 16 bytes of the scratch memory, from 0 to `to`.
std::vector<uint32_t> copy(uint32_t to) {
    constexpr uint32_t kSourceRegion = 304, kRegion = 305, kSource = 48, kTarget = 49, kLength = 50;
    constexpr uint32_t kStart = 16, kWait = 17, kStop = 0xFFFF0000;
    return {put(kSourceRegion, 1),
            put(kRegion, 1),
            put_long(kSource),
            0,
            put_long(kTarget),
            to,
            put_long(kLength),
            8,
            kStart,
            kWait,
            kStop};
}

class OpenOnModelTest : public testing::Test {
  protected:
    /// Nullptr: it was refused, and `reported` says why.
    Network* open(const std::vector<uint32_t>& commands, bool with_memory = true) {
        reported.clear();
        stream = serialized(sound_blocks(commands));
        EXPECT_STREQ(read_payload({stream.data(), stream.size()}, {}, payload), nullptr);
        const Allocator allocator = {with_memory ? take : nothing, this};
        network.reset(open_network(payload, allocator, report));
        return network.get();
    }

    static void* take(void* self, size_t size, size_t) {
        auto& taken = static_cast<OpenOnModelTest*>(self)->memory;
        return size <= taken.size() ? taken.data() : nullptr;
    }
    static void* nothing(void*, size_t, size_t) { return nullptr; }

    struct End {
        void operator()(Network* ended) const { ended->~Network(); }
    };
    std::vector<uint8_t> stream;
    Payload payload;
    alignas(64) std::array<unsigned char, 16384> memory{};
    std::unique_ptr<Network, End> network;
};

TEST_F(OpenOnModelTest, RunsACommandStreamAnyNumberOfTimes) {
    ASSERT_NE(open(copy(16)), nullptr) << reported;
    std::vector<uint8_t> temporary(network->temporary_size());
    for (uint8_t run = 1; run < 3; ++run) {
        uint8_t* const scratch = network->scratch(temporary.data(), report);
        for (uint8_t i = 0; i < 8; ++i) scratch[i] = static_cast<uint8_t>(i * run);
        ASSERT_TRUE(network->run(temporary.data(), report)) << reported;
        for (uint8_t i = 0; i < 8; ++i) EXPECT_EQ(scratch[16 + i], i * run);
    }
}

TEST_F(OpenOnModelTest, ReportsAFaultOfARun) {
    ASSERT_NE(open(copy(28)), nullptr) << reported;
    std::vector<uint8_t> temporary(network->temporary_size());
    EXPECT_FALSE(network->run(temporary.data(), report));
    EXPECT_NE(reported.find("8 bytes at 28 are outside region 1 of 32 bytes"), std::string::npos)
        << reported;
}

TEST_F(OpenOnModelTest, ReportsWhyItCannotBeOpened) {
    EXPECT_EQ(open(copy(16), false), nullptr);
    EXPECT_EQ(reported, "no memory for the functional model");
    constexpr uint32_t kNoCommand = 0x3FF;
    EXPECT_EQ(open({kNoCommand}), nullptr);
    EXPECT_NE(reported.find("command 0"), std::string::npos) << reported;
}

}  // namespace
}  // namespace arm_runtime::ethosu
