#include "ethosu/model/feature_map.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace arm_runtime::ethosu {
namespace {

constexpr Accelerator kU55 = kAccelerators[2], kU85 = kAccelerators[7];
// Fields of IFM_PRECISION and OFM_PRECISION.
constexpr uint16_t kSigned = 1, kBricks = 1 << 6, kChained = 2 << 14, kNowhere = 3 << 14;
constexpr uint16_t ifm_bits(uint32_t log_bytes) { return static_cast<uint16_t>(log_bytes << 2); }
constexpr uint16_t ofm_bits(uint32_t log_bytes) { return static_cast<uint16_t>(log_bytes << 1); }

/// A machine with 256 bytes of memory in region 1: byte i is i, and nobody wrote those from 128 on.
class FeatureMapTest : public testing::Test {
  protected:
    FeatureMapTest() {
        m.accelerator = &kU55;
        m.fault = &fault;
        m.hazards.set_capacity(2, 2);
        m.hazards.begin(Hazards::Kind::kKernel, false, 0);
        for (size_t i = 0; i < memory.size(); ++i) {
            memory[i] = static_cast<uint8_t>(i);
            written[i] = i < 128 ? 1 : 0;
        }
        m.regions[1] = {memory.data(), memory.size(), false, written.data()};
    }

    /// Sets the registers of a map of [height][width], `row` bytes for a row and `column` for an
    /// element of it, whose four tiles are one.
    void set_ifm(uint16_t precision, uint32_t base, uint32_t row, uint32_t column) {
        m.r.set(R16::IFM_PRECISION, precision);
        m.r.set(R16::IFM_REGION, 1);
        m.r.set(R16::IFM_ZERO_POINT, 0);
        for (const R16 size : {R16::IFM_HEIGHT0_M1, R16::IFM_HEIGHT1_M1, R16::IFM_WIDTH0_M1})
            m.r.set(size, 15);
        for (const R32 tile : {R32::IFM_BASE0, R32::IFM_BASE1, R32::IFM_BASE2, R32::IFM_BASE3})
            m.r.set(tile, base, 0);
        m.r.set(R32::IFM_STRIDE_Y, row, 0);
        m.r.set(R32::IFM_STRIDE_X, column, 0);
        m.r.set(R32::IFM_STRIDE_C, 32, 0);
    }

    FeatureMap ifm() {
        FeatureMap map;
        EXPECT_TRUE(read_ifm(m, map)) << fault.text;
        return map;
    }

    template <typename T = int32_t>
    std::vector<T> row(const FeatureMap& map, int64_t y, int64_t width, int64_t depth,
                       int64_t zero_point = 0) {
        std::vector<T> out(static_cast<size_t>(width * depth));
        EXPECT_TRUE(load_row(m, map, y, width, depth, zero_point, out.data())) << fault.text;
        return out;
    }

    std::string fault_text() const { return fault.text; }

    std::vector<uint8_t> memory = std::vector<uint8_t>(256), written = memory;
    EthosUFault fault;
    Machine m;
};

using Values = std::vector<int32_t>;

TEST_F(FeatureMapTest, LoadsRowsWhereTheStridesSay) {
    set_ifm(kSigned, 10, 20, 4);
    const FeatureMap map = ifm();
    EXPECT_EQ(row(map, 0, 2, 4), (Values{10, 11, 12, 13, 14, 15, 16, 17})) << "in one stretch";
    EXPECT_EQ(row(map, 2, 2, 3), (Values{50, 51, 52, 54, 55, 56})) << "column by column";
    set_ifm(kSigned, 60, static_cast<uint32_t>(-20), static_cast<uint32_t>(-4));
    EXPECT_EQ(row(ifm(), 1, 2, 2), (Values{40, 41, 36, 37})) << "strides below 0";
}

TEST_F(FeatureMapTest, LoadsBricksOfSixteenChannels) {
    set_ifm(kSigned | kBricks, 0, 64, 1);
    EXPECT_EQ(row(ifm(), 1, 2, 18),
              (Values{64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 96,  97,
                      80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 112, 113}));
}

TEST_F(FeatureMapTest, LoadsEachTypeLessTheZeroPoint) {
    const uint8_t bytes[] = {0xFF, 0x80, 0x01, 0x00, 0xFE, 0xFF, 0xFF, 0x7F};
    std::memcpy(memory.data(), bytes, sizeof bytes);
    struct Row {
        const char* name;
        uint16_t precision;
        uint32_t element;
        int64_t zero_point;
        Values expected;
    };
    const Row rows[] = {
        {"int8", kSigned, 1, 0, {-1, -128}},
        {"uint8", 0, 1, 0, {255, 128}},
        {"int8 less -128", kSigned, 1, -128, {127, 0}},
        {"int16", kSigned | ifm_bits(1), 2, 0, {-32513, 1}},
        {"uint16", ifm_bits(1), 2, 0, {33023, 1}},
        {"int32", kSigned | ifm_bits(2), 4, 0, {0x000180FF, 0x7FFFFFFE}},
        {"int32, which wraps", kSigned | ifm_bits(2), 4, -2, {0x00018101, INT32_MIN}},
    };
    for (const Row& r : rows) {
        set_ifm(r.precision, 0, 16, r.element);
        EXPECT_EQ(row(ifm(), 0, 2, 1, r.zero_point), r.expected) << r.name;
    }
}

TEST_F(FeatureMapTest, StoresTheLowBitsThatItLoads) {
    struct Row {
        const char* name;
        uint32_t element;
        bool bricks;
        Values in, expected;
    };
    const Row rows[] = {
        {"int8", 1, false, {1, -1, 0x17F, 200}, {1, -1, 0x7F, -56}},
        {"int16", 2, false, {1, -1, 0x17FFF, 40000}, {1, -1, 0x7FFF, -25536}},
        {"int32", 4, false, {1, -1, INT32_MIN, INT32_MAX}, {1, -1, INT32_MIN, INT32_MAX}},
        {"bricks of int16", 2, true, {1, -1, 300, -300}, {1, -1, 300, -300}},
    };
    for (const Row& r : rows) {
        FeatureMap map;
        map.name = "OFM";
        map.region = 1;
        map.element = r.element;
        map.bricks = r.bricks;
        map.height0 = map.height1 = 2;
        map.width0 = 1;  // the second column is in another tile
        map.stride_x = 2 * r.element;
        map.stride_y = 64;
        for (int i = 0; i < 4; ++i) map.base[i] = 128 + 32 * (i % 2);
        ASSERT_TRUE(store_row(m, map, 1, 2, 2, r.in.data())) << fault_text();
        EXPECT_EQ(row(map, 1, 2, 2), r.expected) << r.name << ", which counts as written now";
        ASSERT_TRUE(store_element(m, map, 1, 1, 1, 5));
        EXPECT_EQ(row(map, 1, 2, 2), (Values{r.expected[0], r.expected[1], r.expected[2], 5}));
    }
}

TEST_F(FeatureMapTest, FaultsOutsideOfMemory) {
    struct Row {
        const char* name;
        uint32_t base, row;
        const char* problem;
    };
    const Row rows[] = {
        {"after its end", 254, 0, "IFM: 4 bytes at 254 are outside region 1 of 256 bytes"},
        {"before its start", 0, static_cast<uint32_t>(-1),
         "IFM: 4 bytes at -1 are outside region 1 of 256 bytes"},
        {"far away", UINT32_MAX, 0, "IFM: 4 bytes at 4294967295 are outside region 1"},
        {"bytes that nobody wrote", 126, 0, "IFM reads byte 128 of region 1, which nobody wrote"},
    };
    for (const Row& r : rows) {
        m.failed = false;
        set_ifm(kSigned, r.base, r.row, 1);
        int32_t out[4];
        EXPECT_FALSE(load_row(m, ifm(), 1, 4, 1, 0, out)) << r.name;
        EXPECT_NE(fault_text().find(r.problem), std::string::npos) << fault_text();
    }
    m.failed = false;
    m.regions[1].read_only = true;
    set_ifm(kSigned, 0, 0, 1);
    const int32_t in[4] = {};
    EXPECT_FALSE(store_row(m, ifm(), 0, 4, 1, in));
    EXPECT_NE(fault_text().find("IFM writes to region 1, which is read-only"), std::string::npos);
}

TEST_F(FeatureMapTest, FaultsWhereElementsDoNotFitTheType) {
    set_ifm(kSigned | ifm_bits(2), 0, 16, 4);
    int16_t out[2];
    EXPECT_FALSE(load_row(m, ifm(), 0, 2, 1, 0, out));
    EXPECT_NE(fault_text().find("IFM has elements of 32 bits"), std::string::npos) << fault_text();
}

TEST_F(FeatureMapTest, FaultsAtRegistersThatMakeNoSense) {
    FeatureMap map;
    EXPECT_FALSE(read_ifm(m, map));
    EXPECT_NE(fault_text().find("IFM_PRECISION was never set"), std::string::npos) << fault_text();
    struct Row {
        const Accelerator* accelerator;
        uint16_t precision;
        uint16_t region;
        const char* problem;
    };
    const Row rows[] = {
        {&kU55, ifm_bits(3), 1, "IFM has elements of 64 bits"},
        {&kU55, 2 << 6, 1, "IFM has layout 2"},
        {&kU85, 1 << 14, 1, "IFM has three tiles"},
        {&kU85, kChained, 8, "IFM has no chaining buffer 8"},
        {&kU85, kNowhere, 1, "OP_SCALAR was never set"},
    };
    for (const Row& r : rows) {
        m.failed = false;
        m.accelerator = r.accelerator;
        set_ifm(r.precision, 0, 16, 1);
        m.r.set(R16::IFM_REGION, r.region);
        EXPECT_FALSE(read_ifm(m, map));
        EXPECT_NE(fault_text().find(r.problem), std::string::npos) << fault_text();
    }
}

TEST_F(FeatureMapTest, OnU85AnOperandIsAScalarOrAChainingBuffer) {
    m.accelerator = &kU85;
    set_ifm(kSigned | kNowhere, 0, 0, 1);
    m.r.set(R32::OP_SCALAR, static_cast<uint32_t>(-7), 0);
    EXPECT_EQ(row(ifm(), 3, 2, 1, 1), (Values{-8, -8}));

    int32_t chain[] = {1, 2, 3, 4, 5, 6};
    m.chains[1] = {chain, 3, 2, 1};
    set_ifm(kSigned | kChained, 0, 0, 1);
    EXPECT_EQ(row(ifm(), 2, 2, 1), (Values{5, 6}));
    int32_t out[4];
    EXPECT_FALSE(load_row(m, ifm(), 3, 2, 1, 0, out));
    EXPECT_NE(fault_text().find("chaining buffer 1 holds 3x2x1 elements, not row 3 of 2x1"),
              std::string::npos)
        << fault_text();
}

TEST_F(FeatureMapTest, ClaimsTheBytesOfAllItsTiles) {
    FeatureMap map;
    map.name = "OFM";
    map.region = 1;
    map.height0 = map.height1 = 2;
    map.width0 = 2;
    map.stride_x = 4;
    map.stride_y = 16;
    for (int i = 0; i < 4; ++i) map.base[i] = 64 * i;
    struct Row {
        int64_t at;
        bool taken;
    };
    // Each of the tiles has two rows of two columns of three channels: bytes 0 to 22.
    const Row rows[] = {{0, true},    {22, true},  {23, false}, {64, true},
                        {86, true},   {87, false}, {128, true}, {150, true},
                        {151, false}, {192, true}, {214, true}, {215, false}};
    for (const Row& r : rows) {
        m.failed = false;
        m.hazards = {};
        m.hazards.set_capacity(2, 2);
        m.hazards.begin(Hazards::Kind::kKernel, false, 0);
        ASSERT_TRUE(claim_map(m, map, 4, 4, 3, true));
        m.hazards.begin(Hazards::Kind::kDma, false, 1);
        EXPECT_EQ(m.check_access(1, r.at, 1, false, "DMA"), !r.taken) << "byte " << r.at;
    }
}

TEST_F(FeatureMapTest, BlockdepMayNotLetAJobReadWhatIsNotWrittenYet) {
    set_ifm(kSigned, 0, 8, 1);
    const FeatureMap map = ifm();
    const Blocks rows = {{4, 8, 1}, {1, 8, 1}};  // a block for each row
    m.before.any = true;
    m.before.placement = map;
    m.before.blocks = rows;
    const auto same_row = [&](const Box& block, int64_t) { return block; };
    const auto last_row = [](const Box&, int64_t) { return Box{{3, 0, 0}, {4, 8, 1}}; };
    struct Row {
        const char* name;
        uint16_t blockdep;
        bool reads_last, valid;
    };
    const Row cases[] = {
        {"none unfinished", 0, true, true},
        {"the last block is needed first", 1, true, false},
        {"one unfinished, and rows in order", 1, false, true},
        {"three unfinished, and rows in order", 3, false, true},
    };
    for (const Row& r : cases) {
        m.failed = false;
        m.r.set(R16::BLOCKDEP, r.blockdep);
        const bool valid = r.reads_last ? check_blocks(m, map, rows, 1, last_row)
                                        : check_blocks(m, map, rows, 1, same_row);
        EXPECT_EQ(valid, r.valid) << r.name << ": " << fault_text();
    }
    m.failed = false;
    m.r.set(R16::BLOCKDEP, 3);
    const auto two_down = [](const Box& block, int64_t) {
        return Box{{block.from[0] + 2, 0, 0}, {block.to[0] + 2, 8, 1}};
    };
    EXPECT_FALSE(check_blocks(m, map, rows, 1, two_down)) << "job 0 reads row 2, the last but one";
    EXPECT_NE(fault_text().find("a BLOCKDEP of 3 lets it begin too early"), std::string::npos);
}

TEST_F(FeatureMapTest, AResultIsOneBlockUnlessRegistersSaySo) {
    EXPECT_EQ(read_blocks(m, 6, 4, 20).count(), 1);
    m.r.set(R16::OFM_BLK_HEIGHT_M1, 1);
    m.r.set(R16::OFM_BLK_DEPTH_M1, 15);
    EXPECT_EQ(read_blocks(m, 6, 4, 20).count(), 3 * 2);
}

TEST_F(FeatureMapTest, OfmAndIfmHaveTheirElementBitsInDifferentPlaces) {
    set_ifm(ifm_bits(1), 0, 16, 2);
    EXPECT_EQ(ifm().element, 2);
    FeatureMap map;
    m.r.set(R16::OFM_PRECISION, ofm_bits(2));
    EXPECT_FALSE(read_ofm(m, map)) << "its other registers are not set";
    EXPECT_EQ(map.element, 4);
}

}  // namespace
}  // namespace arm_runtime::ethosu
