#include "vgf/spirv.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <spirv/unified1/spirv.hpp>
#include <vector>

#include "arm_runtime/vgf.hpp"

namespace arm_runtime::vgf {
namespace {

using Code = std::vector<uint32_t>;

const Code kHeader = {spv::MagicNumber, 0x00010600, 0, 100, 0};

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
        read(joined({op(spv::OpGraphEntryPointARM, with({1}, text("main"))),
                     op(spv::OpGraphConstantARM, {2, 3, 17}),
                     op(spv::OpGraphConstantARM, {2, 4, 5}), op(spv::OpTypeTensorARM, {8, 2, 3, 4}),
                     op(spv::OpTypePointer, {9, spv::StorageClassUniformConstant, 8}),
                     op(spv::OpVariable, {9, 10, spv::StorageClassUniformConstant}),
                     op(spv::OpDecorate, {10, spv::DecorationDescriptorSet, 0}),
                     op(spv::OpDecorate, {10, spv::DecorationBinding, 2}),
                     op(spv::OpDecorate, {11, spv::DecorationBinding, 3}),
                     op(spv::OpDecorate, {11, spv::DecorationDescriptorSet, 0})}),
             true);
    EXPECT_TRUE(found.has_entry_point);
    EXPECT_EQ(found.constants, (std::set<uint32_t>{5, 17}));
    // Number 11 is no variable.
    ASSERT_EQ(found.variables.size(), 1);
    EXPECT_EQ(found.variables.begin()->first, std::pair(0U, 2U));
    EXPECT_EQ(found.variables.begin()->second.type.kind, SpirvKind::kTensor);
}

TEST(Spirv, TheEntryPointIsOneOfItsKindAndName) {
    const Code shader =
        op(spv::OpEntryPoint, with({spv::ExecutionModelGLCompute, 1}, text("main")));
    const Code graph = op(spv::OpGraphEntryPointARM, with({1}, text("main")));
    const auto literal = [](const Code& words) {
        return op(spv::OpGraphEntryPointARM, with({1}, words));
    };
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
        {"a fragment shader",
         op(spv::OpEntryPoint, with({spv::ExecutionModelFragment, 1}, text("main"))), false, "main",
         false},
        {"a longer name", literal(text("mainly")), true, "main", false},
        {"a shorter name", literal(text("mai")), true, "main", false},
        {"a name without its end", literal({0x6E69616D}), true, "main", false},
        {"another of two", with(literal(text("other")), graph), true, "main", true},
        {"no name", op(spv::OpGraphEntryPointARM, {1}), true, "", false},
    };
    for (const Row& row : rows)
        EXPECT_EQ(read(joined({row.code}), row.graph, row.entry).has_entry_point, row.found)
            << row.name;
}

TEST(Spirv, InstructionsOfUnusualLengthsAreNotRead) {
    const SpirvInterface found =
        read(joined({op(spv::OpGraphConstantARM, {2, 3}),
                     op(spv::OpDecorate, {1, spv::DecorationBinding}), op(spv::OpDecorate, {1}),
                     op(spv::OpVariable, {1, 2}), op(spv::OpVariable, {}),
                     op(spv::OpGraphEntryPointARM, {})}),
             true);
    EXPECT_TRUE(found.constants.empty());
    EXPECT_TRUE(found.variables.empty());
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
        {joined({{spv::OpVariable}}),
         "segment 3: the SPIR-V instruction at word 5 has length 0, and 1 words are left"},
        {joined({op(spv::OpDecorate, {1, spv::DecorationDescriptorSet, 0}),
                 {3 << 16 | spv::OpVariable, 1}}),
         "segment 3: the SPIR-V instruction at word 9 has length 3, and 2 words are left"},
        {joined({op(spv::OpDecorate, {1, spv::DecorationDescriptorSet, 0}),
                 {0xFFFF0000 | spv::OpVariable, 1}}),
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
