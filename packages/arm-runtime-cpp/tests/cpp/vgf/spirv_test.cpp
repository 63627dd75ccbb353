#include "vgf/spirv.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "arm_runtime/vgf.hpp"

namespace arm_runtime::vgf {
namespace {

using Code = std::vector<uint32_t>;
// SPIR-V 1.6, SPV_ARM_graph.
constexpr uint32_t kEntryPoint = 15, kVariable = 59, kDecorate = 71, kGraphConstant = 4181;
constexpr uint32_t kGraphEntryPoint = 4182, kCompute = 5, kFragment = 4, kBinding = 33, kSet = 34;

const Code kHeader = {0x07230203, 0x00010600, 0, 100, 0};

/// Words of a string literal: its bytes and zeros, one at least.
Code text(const std::string& characters) {
    Code words(characters.size() / 4 + 1);
    std::memcpy(words.data(), characters.data(), characters.size());
    return words;
}

Code op(uint32_t code, Code operands) {
    operands.insert(operands.begin(), static_cast<uint32_t>(operands.size() + 1) << 16 | code);
    return operands;
}

Code joined(const std::vector<Code>& parts) {
    Code all = kHeader;
    for (const Code& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

Code with(Code first, const Code& rest) {
    first.insert(first.end(), rest.begin(), rest.end());
    return first;
}

SpirvInterface read(const Code& code, bool graph, const std::string& entry = "main") {
    return read_interface(code.data(), code.size(), graph, entry, "segment 3");
}

TEST(Spirv, InterfaceOfAGraph) {
    const SpirvInterface found =
        read(joined({op(kGraphEntryPoint, with({1}, text("main"))), op(kGraphConstant, {2, 3, 17}),
                     op(kGraphConstant, {2, 4, 5}), op(kVariable, {9, 10, kClassUniformConstant}),
                     op(kDecorate, {10, kSet, 0}), op(kDecorate, {10, kBinding, 2}),
                     op(kDecorate, {11, kBinding, 3}), op(kDecorate, {11, kSet, 0})}),
             true);
    EXPECT_TRUE(found.has_entry_point);
    EXPECT_EQ(found.constants, (std::set<uint32_t>{5, 17}));
    // Number 11 is no variable.
    EXPECT_EQ(found.bindings, (decltype(found.bindings){{{0, 2}, kClassUniformConstant}}));
}

TEST(Spirv, TheEntryPointIsOneOfItsKindAndName) {
    const Code shader = op(kEntryPoint, with({kCompute, 1}, text("main")));
    const Code graph = op(kGraphEntryPoint, with({1}, text("main")));
    const auto literal = [](const Code& words) { return op(kGraphEntryPoint, with({1}, words)); };
    struct Row {
        const char* name;
        Code code;
        bool graph;
        const char* entry;
        bool found;
    };
    const Row rows[] = {
        {"a graph", graph, true, "main", true},
        {"a graph, asked for a shader", graph, false, "main", false},
        {"a shader", shader, false, "main", true},
        {"a shader, asked for a graph", shader, true, "main", false},
        {"a fragment shader", op(kEntryPoint, with({kFragment, 1}, text("main"))), false, "main",
         false},
        {"a longer name", literal(text("mainly")), true, "main", false},
        {"a shorter name", literal(text("mai")), true, "main", false},
        {"a name without its end", literal({0x6E69616D}), true, "main", false},
        {"another of two", with(literal(text("other")), graph), true, "main", true},
        {"no name", op(kGraphEntryPoint, {1}), true, "", false},
    };
    for (const Row& row : rows)
        EXPECT_EQ(read(joined({row.code}), row.graph, row.entry).has_entry_point, row.found)
            << row.name;
}

TEST(Spirv, InstructionsOfUnusualLengthsAreNotRead) {
    const SpirvInterface found =
        read(joined({op(kGraphConstant, {2, 3}), op(kDecorate, {1, kBinding}), op(kDecorate, {1}),
                     op(kVariable, {1, 2}), op(kVariable, {}), op(kGraphEntryPoint, {})}),
             true);
    EXPECT_TRUE(found.constants.empty());
    EXPECT_TRUE(found.bindings.empty());
    EXPECT_FALSE(found.has_entry_point);
}

TEST(Spirv, SaysWhatIsWrong) {
    struct Row {
        Code code;
        const char* problem;
    };
    const Row rows[] = {
        {{}, "segment 3: its code is not SPIR-V"},
        {{0x07230203, 0, 0, 0}, "segment 3: its code is not SPIR-V"},
        {{0x03022307, 0, 0, 0, 0}, "segment 3: its code is not SPIR-V"},
        {joined({{kVariable}}),
         "segment 3: the SPIR-V instruction at word 5 has length 0, and 1 words are left"},
        {joined({op(kDecorate, {1, kSet, 0}), {3 << 16 | kVariable, 1}}),
         "segment 3: the SPIR-V instruction at word 9 has length 3, and 2 words are left"},
        {joined({op(kDecorate, {1, kSet, 0}), {0xFFFF0000 | kVariable, 1}}),
         "segment 3: the SPIR-V instruction at word 9 has length 65535, and 2 words are left"},
    };
    for (const Row& row : rows) {
        try {
            read(row.code, true);
            ADD_FAILURE() << "accepted, instead of " << row.problem;
        } catch (const Error& error) {
            EXPECT_STREQ(error.what(), row.problem);
        }
    }
}

}  // namespace
}  // namespace arm_runtime::vgf
