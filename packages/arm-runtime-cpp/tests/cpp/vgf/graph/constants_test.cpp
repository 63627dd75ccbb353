#include <gtest/gtest.h>

#include "module_writer.hpp"
#include "vgf/graph/declarations.hpp"

namespace arm_runtime::vgf {
namespace {

const uint8_t kStored[] = {1, 2, 3, 4, 5, 0};

/// Declarations of a segment with graph constants 0 (i8[2, 3]) and 2 (bool[2]).
Declarations declared(const std::vector<Words>& instructions) {
    constexpr auto kTensor = static_cast<VkDescriptorType>(1000460000);
    constexpr auto kBool = static_cast<VkFormat>(1000460000);
    static const std::vector<Resource> resources{
        {Role::kConstant, kTensor, VK_FORMAT_R8_SINT, {2, 3}, 6, 0},
        {Role::kConstant, kTensor, kBool, {2}, 2, 1}};
    static const Segment segment{"segment", {}, GraphSegment{{{0, 0}, {2, 1}}}};
    SegmentCode code;
    code.constants = {kStored, kStored + 4};
    Declarations found(resources, segment, code, 1000);
    for (const Words& words : instructions) {
        EXPECT_TRUE(found.read(Instruction(words.data(), words.size())));
    }
    return found;
}

// Scalars 1 to 9: i8, i16, i32, i64, fp16, bf16, fp32, fp8e4m3, bool. Integers 11 to 13: 1, 2, 3.
// Shapes 21 to 23: [2], [2, 3], [1, 2, 3]. Tensors 101 to 109: of the scalars, [2]; 31 and 33:
// i8[3], i8[2, 3].
std::vector<Words> with(const std::vector<Words>& more) {
    std::vector<Words> all = {op(spv::OpTypeInt, {1, 8, 0}),
                              op(spv::OpTypeInt, {2, 16, 0}),
                              op(spv::OpTypeInt, {3, 32, 1}),
                              op(spv::OpTypeInt, {4, 64, 0}),
                              op(spv::OpTypeFloat, {5, 16}),
                              op(spv::OpTypeFloat, {6, 16, spv::FPEncodingBFloat16KHR}),
                              op(spv::OpTypeFloat, {7, 32}),
                              op(spv::OpTypeFloat, {8, 8, spv::FPEncodingFloat8E4M3EXT}),
                              op(spv::OpTypeBool, {9}),
                              op(spv::OpConstant, {3, 11, 1}),
                              op(spv::OpConstant, {3, 12, 2}),
                              op(spv::OpConstant, {3, 13, 3}),
                              op(spv::OpTypeArray, {14, 3, 11}),
                              op(spv::OpTypeArray, {15, 3, 12}),
                              op(spv::OpTypeArray, {16, 3, 13}),
                              op(spv::OpConstantComposite, {14, 21, 12}),
                              op(spv::OpConstantComposite, {15, 22, 12, 13}),
                              op(spv::OpConstantComposite, {14, 24, 13}),
                              op(spv::OpTypeTensorARM, {31, 1, 11, 24}),
                              op(spv::OpTypeTensorARM, {33, 1, 12, 22})};
    for (uint32_t scalar = 1; scalar <= 9; ++scalar) {
        all.push_back(op(spv::OpTypeTensorARM, {100 + scalar, scalar, 11, 21}));
    }
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

TEST(Constants, Forms) {
    struct Row {
        const char* name;
        std::vector<Words> code;  ///< of which the last makes number 50
        std::vector<uint8_t> data;
    };
    const Row rows[] = {
        {"i8", {op(spv::OpConstant, {1, 50, 0xFFFFFF80})}, {0x80}},
        {"i16", {op(spv::OpConstant, {2, 50, 0x1234})}, {0x34, 0x12}},
        {"i32", {op(spv::OpConstant, {3, 50, 0x12345678})}, {0x78, 0x56, 0x34, 0x12}},
        {"i64", {op(spv::OpConstant, {4, 50, 1, 0xFFFFFFFF})}, {1, 0, 0, 0, 255, 255, 255, 255}},
        {"fp16", {op(spv::OpConstant, {5, 50, 0x3C00})}, {0, 0x3C}},
        {"bf16", {op(spv::OpConstant, {6, 50, 0x3F80})}, {0x80, 0x3F}},
        {"fp32", {op(spv::OpConstant, {7, 50, 0x3F800000})}, {0, 0, 0x80, 0x3F}},
        {"fp8", {op(spv::OpConstant, {8, 50, 0x38})}, {0x38}},
        {"true", {op(spv::OpConstantTrue, {9, 50})}, {1}},
        {"false", {op(spv::OpConstantFalse, {9, 50})}, {0}},
        {"null", {op(spv::OpConstantNull, {33, 50})}, {0, 0, 0, 0, 0, 0}},
        {"null scalar", {op(spv::OpConstantNull, {5, 50})}, {0, 0}},
        {"composite",
         {op(spv::OpConstantTrue, {9, 40}), op(spv::OpConstantComposite, {109, 50, 40, 40})},
         {1, 1}},
        {"composite of tensors",
         {op(spv::OpConstant, {1, 40, 7}), op(spv::OpConstantComposite, {31, 41, 40, 40, 40}),
          op(spv::OpConstantNull, {31, 42}), op(spv::OpConstantComposite, {33, 50, 41, 42})},
         {7, 7, 7, 0, 0, 0}},
        {"replicated scalar",
         {op(spv::OpConstant, {1, 40, 9}), op(spv::OpConstantCompositeReplicateEXT, {33, 50, 40})},
         {9, 9, 9, 9, 9, 9}},
        {"replicated tensor",
         {op(spv::OpConstant, {1, 40, 1}), op(spv::OpConstant, {1, 41, 2}),
          op(spv::OpConstantComposite, {31, 42, 40, 41, 41}),
          op(spv::OpConstantCompositeReplicateEXT, {33, 50, 42})},
         {1, 2, 2, 1, 2, 2}},
        {"graph constant", {op(spv::OpGraphConstantARM, {33, 50, 0})}, {1, 2, 3, 4, 5, 0}},
        {"graph constant of bools", {op(spv::OpGraphConstantARM, {109, 50, 2})}, {1, 0}},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(row.name);
        const Declarations found = declared(with(row.code));
        ASSERT_NE(found.constant(50), nullptr);
        EXPECT_EQ(found.constant(50)->data, row.data);
    }
}

TEST(Constants, SaysWhatIsWrong) {
    struct Row {
        std::vector<Words> code;
        const char* problem;
    };
    const Words much = op(spv::OpConstant, {3, 40, 0x7FFFFFFF});
    const Words large = op(spv::OpConstant, {3, 40, 1 << 25});
    const Words large_shape = op(spv::OpConstantComposite, {14, 41, 40});
    const Words large_tensor = op(spv::OpTypeTensorARM, {42, 1, 11, 41});
    const Row rows[] = {
        {{op(spv::OpTypeInt, {50, 4, 0})}, "OpTypeInt of 4 bits: not a type of this runtime"},
        {{op(spv::OpTypeFloat, {50, 64})}, "OpTypeFloat of 64 bits"},
        {{op(spv::OpTypeFloat, {50, 16, 9})}, "OpTypeFloat of 16 bits"},
        {{op(spv::OpTypeInt, {50, 8})}, "OpTypeInt has 3 words instead of 4"},
        {{op(spv::OpTypeInt, {0, 8, 0})}, "id 0 is outside of the module's bound 1000"},
        {{op(spv::OpTypeInt, {1000, 8, 0})}, "id 1000 is outside of the module's bound 1000"},
        {{op(spv::OpTypeInt, {1, 8, 0})}, "id 1 is defined twice"},
        {{op(spv::OpTypeTensorARM, {50, 77, 11, 21})}, "id 77 is no type defined before"},
        {{op(spv::OpTypeTensorARM, {50, 101, 11, 21})},
         "type 101 is of the kind tensor, not scalar"},
        {{op(spv::OpTypeTensorARM, {50, 1})}, "OpTypeTensorARM has 3 words instead of 5"},
        {{op(spv::OpTypeTensorARM, {50, 1, 12, 21})}, "whose shape is no array of so many i32"},
        {{op(spv::OpTypeTensorARM, {50, 1, 11, 1})}, "a tensor whose shape is no constant"},
        {{op(spv::OpConstantNull, {14, 40}), op(spv::OpTypeTensorARM, {50, 1, 11, 40})},
         "a tensor of shape [0]: out of range"},
        {{much, op(spv::OpConstantComposite, {15, 41, 40, 40}),
          op(spv::OpTypeTensorARM, {50, 1, 12, 41})},
         "a tensor of shape [2147483647, 2147483647]: out of range"},
        {{op(spv::OpConstant, {3, 40, 0}), op(spv::OpTypeArray, {50, 3, 40})},
         "an array without elements"},
        {{op(spv::OpConstant, {3, 40, 0xFFFFFFFF}), op(spv::OpTypeArray, {50, 3, 40})},
         "constant 40 is no index"},
        {{op(spv::OpConstant, {3, 50})}, "OpConstant has 3 words instead of 4"},
        {{op(spv::OpConstant, {4, 50, 1})}, "OpConstant has 4 words instead of 5"},
        {{op(spv::OpConstant, {9, 50, 1})}, "OpConstant of bool"},
        {{op(spv::OpConstantTrue, {1, 50})}, "OpConstantTrue of i8"},
        {{op(spv::OpConstantComposite, {103, 50, 11})}, "a constant i32[2] of 1 parts"},
        {{op(spv::OpConstantComposite, {103, 50, 11, 77})}, "id 77 is no constant defined before"},
        {{op(spv::OpConstantComposite, {101, 50, 11, 11})}, "a constant i8[2] with a part i32[]"},
        {{op(spv::OpConstantComposite, {3, 50, 11})}, "a constant i32[] of 1 parts"},
        {{op(spv::OpConstantCompositeReplicateEXT, {101, 50, 11})},
         "a constant i8[2] that repeats i32[]"},
        {{op(spv::OpConstantNull, {33, 40}),
          op(spv::OpConstantCompositeReplicateEXT, {33, 50, 40})},
         "a constant i8[2, 3] that repeats i8[2, 3]"},
        {{op(spv::OpTypeStruct, {40, 101}), op(spv::OpConstantNull, {40, 50})},
         "a constant of a struct type"},
        {{much, op(spv::OpTypeArray, {41, 3, 40}), op(spv::OpConstantNull, {41, 50})},
         "constants in the code of more than 67108864 bytes"},
        {{large, large_shape, large_tensor, op(spv::OpConstantNull, {42, 43}),
          op(spv::OpConstantNull, {42, 44})},
         "constants in the code of more than 67108864 bytes"},
        {{op(spv::OpGraphConstantARM, {33, 50, 3})}, "graph constant 3 is none of the segment's"},
        {{op(spv::OpGraphConstantARM, {31, 50, 0})},
         "resource 0 is i8[2, 3], and the code wants i8[3]"},
        {{op(spv::OpTypeTensorARM, {50, 1, 12}), op(spv::OpConstantNull, {50, 51})},
         "a constant whose rank alone is known"},
        {{op(spv::OpTypeTensorARM, {50, 3, 11}), op(spv::OpConstantComposite, {50, 51, 12})},
         "a constant whose rank alone is known"},
        {{op(spv::OpTypeTensorARM, {50, 3, 11}),
          op(spv::OpConstantCompositeReplicateEXT, {50, 51, 12})},
         "a constant whose rank alone is known"},
        {{op(spv::OpTypeTensorARM, {50, 1, 12}), op(spv::OpGraphConstantARM, {50, 51, 0})},
         "a constant whose rank alone is known"},
        {{op(spv::OpTypePointer, {50, spv::StorageClassUniform, 101})},
         "a pointer of storage class 2; tensors are in UniformConstant"},
        {{op(spv::OpTypeGraphARM, {50, 3, 101, 101})},
         "a graph type of 3 inputs with 2 tensors in all"},
    };
    for (const Row& row : rows) {
        try {
            declared(with(row.code));
            ADD_FAILURE() << "accepted, instead of " << row.problem;
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find(row.problem), std::string::npos)
                << "'" << error.what() << "' instead of '" << row.problem << "'";
        }
    }
}

}  // namespace
}  // namespace arm_runtime::vgf
