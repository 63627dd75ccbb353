#include "ethosu/delegate/payload.hpp"

#include <gtest/gtest.h>

#include "payload_stream.hpp"

namespace arm_runtime::ethosu {
namespace {

constexpr size_t kCommands = 1, kWeights = 2, kScratch = 3, kInputs = 4, kEnd = 6;
constexpr uint32_t kStop = 0xFFFF0000;

const char* problem_of(const std::vector<uint8_t>& stream, const NamedData& named = {}) {
    Payload payload;
    return read_payload({stream.data(), stream.size()}, named, payload);
}

TEST(Payload, IsReadInPlace) {
    const std::vector<uint8_t> stream = serialized(sound_blocks({kStop}));
    Payload payload;
    ASSERT_STREQ(read_payload({stream.data(), stream.size()}, {}, payload), nullptr);
    EXPECT_EQ(payload.scratch_size, 32);
    EXPECT_EQ(payload.weights.size, 3);
    EXPECT_EQ(payload.weights.data[2], 3);
    ASSERT_EQ(payload.inputs.count(), 1);
    EXPECT_EQ(payload.inputs[0].element_size, 2);
    EXPECT_EQ(payload.inputs[0].size, 8);
    EXPECT_TRUE(payload.inputs[0].placed);
    ASSERT_EQ(payload.outputs.count(), 2);
    EXPECT_EQ(payload.outputs[0].offset, 16);
    EXPECT_EQ(payload.outputs[1].size, 12);
    EXPECT_FALSE(payload.outputs[1].placed);
    Container container;
    ASSERT_STREQ(read_commands(payload, container), nullptr);
    EXPECT_EQ(container.macs(), 128);
    EXPECT_EQ(container.stream.size(), 1);
}

TEST(Payload, TakesBlocksInAnyOrder) {
    std::vector<StreamBlock> blocks = sound_blocks({kStop});
    std::swap(blocks[kCommands], blocks[kInputs]);
    EXPECT_STREQ(problem_of(serialized(blocks)), nullptr);
}

TEST(Payload, SaysWhatIsWrongWithItsBlocks) {
    const auto with = [](size_t index, const StreamBlock& block) {
        std::vector<StreamBlock> blocks = sound_blocks({kStop});
        blocks[index] = block;
        return serialized(blocks);
    };
    const auto inputs = [&](const std::vector<std::vector<int32_t>>& rows) {
        return with(kInputs, {"inputs", slot_table(rows)});
    };
    const auto without = [](size_t index) {
        std::vector<StreamBlock> blocks = sound_blocks({kStop});
        blocks.erase(blocks.begin() + static_cast<ptrdiff_t>(index));
        return serialized(blocks);
    };
    std::vector<uint8_t> long_block = serialized(sound_blocks({kStop}));
    std::memset(long_block.data() + 32 + 16, 0xFF, 4);  // the size of cmd_data
    std::vector<uint8_t> more = serialized(sound_blocks({kStop}));
    more.resize(more.size() + 16);
    std::vector<uint8_t> short_table = slot_table({{1, 1, 1, 1, 1, 4, 2, 0, 1}});
    short_table.pop_back();
    struct Row {
        const char* problem;
        std::vector<uint8_t> stream;
    };
    const char* const size = "an input or output has a shape or element size that is not one";
    const char* const place = "an input or output ends after the scratch memory";
    const char* const table = "a table of inputs or outputs is not as long as its count says";
    const Row rows[] = {
        {"ends before block vela_end_stream", {}},
        {"ends before block vela_end_stream", without(kEnd)},
        {"does not begin with the one block vela_bin_stream", without(0)},
        {"does not begin with the one block vela_bin_stream", with(2, {"vela_bin_stream", {}})},
        {"has a block of unknown name", with(kWeights, {"weight_dada", {}})},
        {"has a block twice", with(kWeights, {"cmd_data", driver_payload({})})},
        {"ends inside a block", long_block},
        {"goes on after block vela_end_stream", more},
        {"lacks one of the blocks cmd_data, weight_data, scratch_size, inputs, outputs",
         without(kWeights)},
        {"has a block scratch_size that is not 4 bytes long",
         with(kScratch, {"scratch_size", {1}})},
        {"has no command stream in block cmd_data", with(kCommands, {"cmd_data", {'C', 'O', 'P'}})},
        {"has no command stream in block cmd_data", with(kCommands, {"cmd_data", words({0})})},
        {"a table of inputs or outputs has no count", with(kInputs, {"inputs", {1, 0, 0}})},
        {table,
         with(kInputs, {"inputs", words({0x1C71C71D, 0, 0, 0, 0, 0})})},  // times 36 it wraps to 20
        {table, with(kInputs, {"inputs", short_table})},
        {size, inputs({{1, 1, 1, 1, 1, 4, 3, 0, 1}})},
        {size, inputs({{1, 1, 1, 1, 1, 0, 1, 0, 1}})},
        {size, inputs({{1, 1, 1, 1, -4, 4, 1, 0, 1}})},
        {size, inputs({{1, 1, 1, 65536, 65536, 1, 1, 0, 1}})},
        {size, inputs({{INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, 4, 4, 4, 0, 1}})},
        {"an input or output is not in the scratch memory, region 1",
         inputs({{1, 1, 1, 1, 1, 4, 1, 0, 2}})},
        {place, inputs({{1, 1, 1, 1, 1, 4, 1, 29, 1}})},
        {place, inputs({{1, 1, 1, 1, 1, 33, 1, 0, 1}})},
        {place, inputs({{1, 1, 1, 1, 1, 4, 1, INT32_MAX, 1}})},
    };
    for (const Row& row : rows) EXPECT_STREQ(problem_of(row.stream), row.problem);
    EXPECT_STREQ(problem_of(inputs({{1, 1, 1, 1, 1, 4, 1, 28, 1}})), nullptr) << "up to its end";
}

TEST(Payload, ThatIsCutAnywhereIsAnError) {
    const std::vector<uint8_t> whole = serialized(sound_blocks({kStop}));
    for (size_t size = 0; size < whole.size(); ++size) {
        const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
        EXPECT_STRNE(problem_of(cut), nullptr) << size << " bytes";
    }
}

TEST(Payload, RefersToNamedData) {
    const std::vector<uint8_t> weights = {7, 8};
    const NamedData named = {[](void* context, const char* name, size_t, Bytes& found) {
                                 if (std::strcmp(name, "weights of layer 1") != 0) return false;
                                 const auto& data =
                                     *static_cast<const std::vector<uint8_t>*>(context);
                                 found = {data.data(), data.size()};
                                 return true;
                             },
                             const_cast<std::vector<uint8_t>*>(&weights)};
    const auto refer = [](const std::string& name, size_t size, uint8_t reference) {
        std::vector<uint8_t> data(name.begin(), name.end());
        data.resize(size);
        std::vector<StreamBlock> blocks = sound_blocks({kStop});
        blocks[kWeights] = {"weight_data", data, reference};
        return serialized(blocks);
    };
    const std::vector<uint8_t> stream = refer("weights of layer 1", 64, 1);
    Payload payload;
    ASSERT_STREQ(read_payload({stream.data(), stream.size()}, named, payload), nullptr);
    EXPECT_EQ(payload.weights.data, weights.data());
    EXPECT_EQ(payload.weights.size, 2);
    const char* const missing =
        "refers to named data that the program and its .ptd files do not have";
    EXPECT_STREQ(problem_of(stream), missing) << "without any named data";
    EXPECT_STREQ(problem_of(refer("other", 64, 1), named), missing);
    EXPECT_STREQ(problem_of(refer("weights of layer 1", 63, 1), named),
                 "has a reference to named data that is not 64 bytes long");
    EXPECT_STREQ(problem_of(refer("weights of layer 1", 64, 2), named),
                 "has a block that is neither data nor a reference to named data");
}

TEST(Payload, MustSayForWhichAcceleratorItIs) {
    std::vector<StreamBlock> blocks = sound_blocks({});
    blocks[kCommands].data = words({0x31504F43, 2 | 1u << 16, kStop});
    const std::vector<uint8_t> stream = serialized(blocks);
    Payload payload;
    ASSERT_STREQ(read_payload({stream.data(), stream.size()}, {}, payload), nullptr);
    Container container;
    EXPECT_STREQ(read_commands(payload, container),
                 "the command stream does not say for which accelerator it is");
}

}  // namespace
}  // namespace arm_runtime::ethosu
