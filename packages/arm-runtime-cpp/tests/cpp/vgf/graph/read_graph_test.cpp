#include <gtest/gtest.h>

#include "add_module.hpp"
#include "vgf/graph/graph.hpp"

namespace arm_runtime::vgf {
namespace {

using namespace add_module;

constexpr auto kTensor = static_cast<VkDescriptorType>(1000460000);

/// The module in a program that has an input and an output of i32[4].
Graph read(const Words& words, std::vector<Resource> resources = {}) {
    if (resources.empty()) {
        resources = {{Role::kInput, kTensor, VK_FORMAT_R32_SINT, {4}, 16, 0},
                     {Role::kOutput, kTensor, VK_FORMAT_R32_SINT, {4}, 16, 1}};
    }
    const Segment segment{"three", {{0, 0, 0}, {0, 1, 1}}, GraphSegment{}};
    SegmentCode code;
    code.words = words.data();
    code.count = words.size();
    code.entry_point = "main";
    return read_graph(resources, segment, code, "segment 3");
}

TEST(ReadGraph, AnOperator) {
    const Graph graph = read(code({}));
    ASSERT_EQ(graph.operators.size(), 1U);
    const Operator& add = graph.operators[0];
    EXPECT_EQ(add.opcode, static_cast<uint32_t>(TOSAADD));
    EXPECT_EQ(add.operands,
              (std::vector<uint32_t>{graph.inputs.at(0).tensor, graph.inputs[0].tensor}));
    EXPECT_EQ(add.results, std::vector<uint32_t>{graph.outputs.at(0).tensor});
    EXPECT_EQ(graph.inputs[0].resource, 0U);
    EXPECT_EQ(graph.outputs[0].resource, 1U);
    EXPECT_EQ(graph.result(add).type, ElementType::kInt32);
    EXPECT_EQ(graph.result(add).shape, std::vector<int64_t>{4});
    EXPECT_FALSE(graph.result(add).constant);
}

TEST(ReadGraph, AnOperatorSaysTheShapeOfAResultWhoseRankAloneIsKnown) {
    Variant v;
    v.declarations = op(spv::OpTypeTensorARM, {50, 2, kOne});
    v.body = op(spv::OpExtInst, {50, kResult, kSet, TOSAADD, kInput, kInput});
    const Graph graph = read(code(v));
    EXPECT_EQ(graph.result(graph.operators.at(0)).shape, std::vector<int64_t>{4});
}

TEST(ReadGraph, AConstantIsOneTensorHoweverOftenItIsUsed) {
    Variant v;
    v.declarations = joined(op(spv::OpConstant, {2, 30, 0xFFFFFFFD}),
                            op(spv::OpConstantCompositeReplicateEXT, {kType, 31, 30}));
    v.body = op(spv::OpExtInst, {kType, kResult, kSet, TOSAADD, 31, 31});
    const Graph graph = read(code(v));
    const Operator& add = graph.operators.at(0);
    EXPECT_EQ(add.operands[0], add.operands[1]);
    EXPECT_TRUE(graph.operand(add, 0).constant);
    EXPECT_EQ(graph.integers(add, 0), (std::vector<int64_t>{-3, -3, -3, -3}));
}

TEST(ReadGraph, StructsNameTheirMembers) {
    Variant v;
    v.body = joined(joined(v.body, op(spv::OpCompositeConstruct, {kStruct, 40, kInput, kResult})),
                    op(spv::OpCompositeExtract, {kType, 41, 40, 1}));
    v.output = op(spv::OpGraphSetOutputARM, {41, kZero});
    const Graph graph = read(code(v));
    EXPECT_EQ(graph.outputs.at(0).tensor, graph.operators.at(0).results[0]);
}

TEST(ReadGraph, OtherGraphsAndOtherInstructionSetsArePassedOver) {
    Variant v;
    v.declarations =
        joined(joined(op(spv::OpExtInstImport, joined({60}, literal("NonSemantic.Notes"))),
                      joined(op(spv::OpGraphARM, {kGraphType, 61}),
                             op(spv::OpExtInst, {kType, 62, kSet, 999, 998}))),
               op(spv::OpGraphEndARM));
    v.body = joined(v.body, op(spv::OpExtInst, {kType, 63, 60, 1}));
    EXPECT_EQ(read(code(v)).operators.size(), 1U);
}

TEST(ReadGraph, SaysWhatIsWrong) {
    struct Row {
        const char* problem;
        Variant variant;
    };
    const auto entry = [](const char* name, const Words& variables) {
        Variant v;
        v.entry = op(spv::OpGraphEntryPointARM, joined(joined({kGraph}, literal(name)), variables));
        return v;
    };
    const auto input = [](const Words& words) {
        Variant v;
        v.input = words;
        return v;
    };
    const auto body = [](const Words& words) {
        Variant v;
        v.body = words;
        return v;
    };
    const auto output = [](const Words& words) {
        Variant v;
        v.output = words;
        return v;
    };
    const auto declare = [](const Words& words) {
        Variant v;
        v.declarations = words;
        return v;
    };
    const auto call = [](uint32_t type, uint32_t set, uint32_t opcode, uint32_t x, uint32_t y) {
        return op(spv::OpExtInst, {type, kResult, set, opcode, x, y});
    };
    const auto late = [](const Words& words) {
        Variant v;
        v.end = joined(v.end, words);
        return v;
    };
    Variant endless;
    endless.end = {};
    const Row rows[] = {
        {"no whole graph for the entry point 'main'", entry("other", {kIn, kOut})},
        {"no whole graph for the entry point 'main'", endless},
        {"the entry point has 1 variables, and its graph takes and gives 2", entry("main", {kIn})},
        {"variable 12 is not one that has a descriptor set", entry("main", {kInput, kOut})},
        {"graph output 0 cannot be written to resource 0, which is an input", entry("main", {kIn, kIn})},
        {"the entry point 'main' twice",
         declare(op(spv::OpGraphEntryPointARM, joined({kGraph}, literal("main"))))},
        {"OpGraphInputARM has 5 words instead of 4",
         input(op(spv::OpGraphInputARM, {kType, kInput, kZero, kZero}))},
        {"graph input 1 of 1", input(op(spv::OpGraphInputARM, {kType, kInput, kOne}))},
        {"graph input 0 is fp32[4], and the graph's type says i32[4]",
         input(op(spv::OpGraphInputARM, {kFloats, kInput, kZero}))},
        {"graph input 0 is read twice", input(joined(op(spv::OpGraphInputARM, {kType, 40, kZero}),
                                                     op(spv::OpGraphInputARM, {kType, 41, kZero})))},
        {"operator 0 (ADD): id 12 is no value defined before", input({})},
        {"id 13 is no value defined before", body({})},
        {"graph output 0 is not set", output({})},
        {"graph output 1 of 1", output(op(spv::OpGraphSetOutputARM, {kResult, kOne}))},
        {"graph output 0 is set twice",
         output(joined(op(spv::OpGraphSetOutputARM, {kResult, kZero}),
                       op(spv::OpGraphSetOutputARM, {kInput, kZero})))},
        {"operator 0: TOSA.001000.1 has no instruction 66", body(call(kType, kSet, 66, kInput, kInput))},
        {"operator 0 (SUB): id 99 is no value defined before",
         body(call(kType, kSet, TOSASUB, kInput, 99))},
        {"operator 0 (SUB): id 6 is an array, no tensor", body(call(kType, kSet, TOSASUB, kInput, 6))},
        {"operator 0 (SUB): its result has shape [4], and the code says [-1, -1, -1, -1]",
         [&] {
             Variant v = body(call(50, kSet, TOSASUB, kInput, kInput));
             v.declarations = op(spv::OpTypeTensorARM, {50, 2, 4});
             return v;
         }()},
        {"operator 0 (SUB): its types are i32 i32 fp32",
         body(call(kFloats, kSet, TOSASUB, kInput, kInput))},
        {"operator 0 (SUB): type 5 is of the kind array, not tensor",
         body(call(5, kSet, TOSASUB, kInput, kInput))},
        {"id 2 is no instruction set", body(call(kType, 2, TOSAADD, kInput, kInput))},
        {"instructions of 'OpenCL.std'; those of TOSA.001000.1 belong in a graph", [&] {
             Variant v = body(call(kType, 60, TOSAADD, kInput, kInput));
             v.declarations = op(spv::OpExtInstImport, joined({60}, literal("OpenCL.std")));
             return v;
         }()},
        {"id 12 is defined twice",
         body(op(spv::OpExtInst, {kType, kInput, kSet, TOSAADD, kInput, kInput}))},
        {"OpCompositeExtract: id 12 has no member 0",
         body(op(spv::OpCompositeExtract, {kType, kResult, kInput, 0}))},
        {"OpCompositeConstruct: 1 parts for 2 members",
         body(op(spv::OpCompositeConstruct, {kStruct, kResult, kInput}))},
        {"id 13 is several tensors",
         body(op(spv::OpCompositeConstruct, {kStruct, kResult, kInput, kInput}))},
        {"OpFAdd is nothing that a graph of this runtime may have",
         body(op(spv::OpFAdd, {kType, kResult, kInput, kInput}))},
        {"SPIR-V instruction 9999 is nothing", declare(op(9999, {1, 2}))},
        {"OpSpecConstant is nothing", declare(op(spv::OpSpecConstant, {2, 40, 1}))},
        {"OpTypeInt is nothing", body(op(spv::OpTypeInt, {40, 8, 0}))},
        {"OpTypeInt is nothing", late(op(spv::OpTypeInt, {40, 8, 0}))},
        {"OpGraphEndARM outside of a graph", declare(op(spv::OpGraphEndARM))},
        {"a graph within a graph", body(op(spv::OpGraphARM, {kGraphType, 40}))},
        {"OpExtInstImport has a name without an end",
         declare(op(spv::OpExtInstImport, {60, 0x41414141}))},
        {"OpDecorate has 3 words, too few", declare(op(spv::OpDecorate, {1, spv::DecorationBinding}))},
    };
    for (const Row& row : rows) {
        try {
            read(code(row.variant));
            ADD_FAILURE() << "accepted, instead of " << row.problem;
        } catch (const Error& error) {
            const std::string problem = error.what();
            EXPECT_EQ(problem.rfind("segment 3: ", 0), 0U) << problem;
            EXPECT_NE(problem.find(row.problem), std::string::npos)
                << "'" << problem << "' instead of '" << row.problem << "'";
        }
    }
}

TEST(ReadGraph, ResourcesAgreeWithTheCode) {
    struct Row {
        Resource in;
        Resource out;
        const char* problem;
    };
    const Resource in{Role::kInput, kTensor, VK_FORMAT_R32_SINT, {4}, 16, 0};
    const Resource out{Role::kOutput, kTensor, VK_FORMAT_R32_UINT, {4}, 16, 1};
    const auto changed = [](Resource resource, auto change) {
        change(resource);
        return resource;
    };
    const Row rows[] = {
        {in, out, ""},
        {changed(in, [](Resource& r) { r.format = VK_FORMAT_R32_SFLOAT; }), out,
         "resource 0 is fp32[4], and the code wants i32[4]"},
        {in, changed(out, [](Resource& r) { r.shape = {2, 2}; }), "resource 1 is i32[2, 2]"},
        {in, changed(out, [](Resource& r) { r.storage = 0; }), ""},
        {in, changed(out, [](Resource& r) { r.role = Role::kConstant; }),
         "cannot be written to resource 1, which is an input or a constant"},
    };
    for (const Row& row : rows) {
        std::string problem;
        try {
            read(code({}), {row.in, row.out});
        } catch (const Error& error) {
            problem = error.what();
        }
        EXPECT_NE(problem.find(row.problem), std::string::npos)
            << "'" << problem << "' instead of '" << row.problem << "'";
        EXPECT_EQ(problem.empty(), *row.problem == '\0') << problem;
    }
}

}  // namespace
}  // namespace arm_runtime::vgf
