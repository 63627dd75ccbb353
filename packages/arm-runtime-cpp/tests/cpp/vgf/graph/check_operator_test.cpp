#include "vgf/graph/check_operator.hpp"

#include <gtest/gtest.h>
#include <spirv/unified1/TOSA.001000.1.h>

#include <algorithm>
#include <cstring>

namespace arm_runtime::vgf {
namespace {

using Shape = std::vector<int64_t>;
using Numbers = std::vector<int64_t>;
constexpr auto kB = ElementType::kBool;
constexpr auto kI8 = ElementType::kInt8;
constexpr auto kI16 = ElementType::kInt16;
constexpr auto kI32 = ElementType::kInt32;
constexpr auto kI48 = ElementType::kInt48;
constexpr auto kF16 = ElementType::kFloat16;
constexpr auto kF32 = ElementType::kFloat32;

Tensor of(ElementType type, const Shape& shape) { return {type, shape, false, {}}; }

/// A constant whose elements are these numbers' low bytes.
Tensor constant(ElementType type, const Shape& shape, const Numbers& numbers) {
    Tensor made{type, shape, true, {}};
    for (const int64_t number : numbers) {
        uint8_t bytes[sizeof(number)];
        std::memcpy(bytes, &number, sizeof(number));
        made.data.insert(made.data.end(), bytes, bytes + size_of(type));
    }
    return made;
}

Tensor ints(const Numbers& numbers) {
    return constant(kI32, {static_cast<int64_t>(numbers.size())}, numbers);
}
Tensor number(int64_t value) { return constant(kI32, {}, {value}); }
Tensor flag(bool value) { return constant(kB, {}, {value ? 1 : 0}); }
Tensor zero(ElementType type) { return constant(type, {1}, {0}); }

/// An operator, and a part of the error that it makes; null: none.
struct Case {
    uint32_t opcode;
    std::vector<Tensor> operands;
    std::vector<Tensor> results;
    const char* problem = nullptr;
};

/// The case with another operand or, beyond them, another result.
Case with(Case base, size_t index, Tensor tensor, const char* problem = nullptr) {
    const size_t count = base.operands.size();
    (index < count ? base.operands[index] : base.results.at(index - count)) = std::move(tensor);
    base.problem = problem;
    return base;
}

void check(const Case& c) {
    Graph graph;
    Operator op{c.opcode, {}, {}};
    for (const Tensor& tensor : c.operands) {
        op.operands.push_back(static_cast<uint32_t>(graph.tensors.size()));
        graph.tensors.push_back(tensor);
    }
    for (const Tensor& tensor : c.results) {
        op.results.push_back(static_cast<uint32_t>(graph.tensors.size()));
        graph.tensors.push_back(tensor);
    }
    std::string problem;
    try {
        check_operator(graph, op);
    } catch (const Error& error) {
        problem = error.what();
    }
    if (c.problem == nullptr) {
        EXPECT_EQ(problem, "");
    } else {
        EXPECT_NE(problem.find(c.problem), std::string::npos)
            << "'" << problem << "' instead of '" << c.problem << "'";
    }
}

void check_all(const std::vector<Case>& cases) {
    for (size_t i = 0; i < cases.size(); ++i) {
        SCOPED_TRACE("case " + std::to_string(i) + " of " + opcode_name(cases[i].opcode));
        check(cases[i]);
    }
}

TEST(CheckOperator, OpcodesBeyondTheSet) {
    EXPECT_STREQ(opcode_name(TOSAARGMAX), "ARGMAX");
    EXPECT_STREQ(opcode_name(TOSARESCALE), "RESCALE");
    EXPECT_THROW(opcode_name(TOSARESCALE + 1), Error);
}

TEST(CheckOperator, Operands) {
    const Case add{TOSAADD, {of(kF32, {2, 3}), of(kF32, {2, 1})}, {of(kF32, {2, 3})}};
    Case three = add;
    three.operands.push_back(of(kF32, {2, 3}));
    three.problem = "it takes 2 operands (input1 input2), and has 3";
    Case none{TOSACONCAT, {number(0)}, {of(kF32, {2})}, "it takes 2 operands or more"};
    Case two = add;
    two.results.push_back(of(kF32, {2, 3}));
    two.problem = "it has 1 results, and the code takes 2";
    check_all(
        {add, three, none, two, with(add, 0, constant(kF32, {}, {0}), "input1 is no tensor"),
         with(add, 1, of(kF32, {1, 1})), with(add, 1, of(kF32, {3}), "do not broadcast"),
         with(add, 1, of(kF32, {3, 3}), "do not broadcast"),
         with(add, 1, of(kF16, {2, 1}), "its types are fp32 fp16 fp32; TOSA has = fp16"),
         with(add, 2, of(kF32, {2, 1}), "its result has shape [2, 3], and the code says [2, 1]")});
}

TEST(CheckOperator, Convolutions) {
    const Case conv{TOSACONV2D,
                    {ints({1, 1, 1, 1}), ints({2, 2}), ints({1, 1}), number(1), flag(false),
                     of(kI8, {1, 9, 9, 3}), of(kI8, {4, 3, 3, 3}), of(kI32, {4}),
                     constant(kI8, {1}, {-128}), zero(kI8)},
                    {of(kI32, {1, 5, 5, 4})}};
    Case wide = with(with(conv, 5, of(kI16, {1, 9, 9, 3})), 8, zero(kI16));
    wide = with(with(with(wide, 7, of(kI48, {1})), 10, of(kI48, {1, 5, 5, 4})), 3, number(4));
    check_all({conv,
               wide,
               with(conv, 7, of(kI32, {1})),
               with(conv, 7, of(kI32, {3}), "bias must have shape [1] or [4]"),
               with(conv, 0, ints({-1, 1, 1, 1}), "pad [-1, 1, 1, 1] is not within 0 to 8192"),
               with(conv, 0, ints({1, 1}), "pad must be i32[4], and is i32[2]"),
               with(conv, 0, of(kI32, {4}), "pad must be a constant"),
               with(conv, 0, ints({1, 2, 1, 1}), "stride 2 does not divide the padded height"),
               with(conv, 1, ints({0, 2}), "stride [0, 2]"),
               with(conv, 2, ints({1, 0}), "dilation [1, 0]"),
               with(conv, 2, ints({8192, 1}), "the dilated kernel's height is more than 8192"),
               with(conv, 2, ints({6, 1}), "the kernel is larger than the padded height"),
               with(conv, 3, number(5), "acc_type [5] is not within 1 to 4"),
               with(conv, 3, number(3), "its types are fp32 i8 i8 i32"),
               with(conv, 4, number(0), "local_bound must be bool[], and is i32[]"),
               with(conv, 5, of(kI8, {9, 9, 3}), "input must have rank 4"),
               with(conv, 6, of(kI8, {4, 3, 3, 2}), "input has 3 channels, and weight takes 2"),
               with(conv, 8, of(kI8, {1}), "input_zp must be a constant"),
               with(conv, 8, constant(kI8, {2}, {0, 0}), "input_zp must be i8[1]"),
               with(wide, 8, constant(kI16, {1}, {1}), "input_zp of i16 must be 0"),
               with(conv, 10, of(kI32, {1, 5, 5, 3}), "its result has shape [1, 5, 5, 4]")});

    const Case depthwise = with(
        with(with({TOSADEPTHWISE_CONV2D, conv.operands, conv.results}, 6, of(kI8, {3, 3, 3, 2})), 7,
             of(kI32, {6})),
        10, of(kI32, {1, 5, 5, 6}));
    check_all({depthwise, with(depthwise, 6, of(kI8, {3, 3, 2, 3}), "input has 3 channels")});

    const Case deep{TOSACONV3D,
                    {ints({0, 0, 0, 0, 0, 0}), ints({1, 1, 1}), ints({1, 1, 1}), number(3),
                     flag(false), of(kF32, {1, 2, 3, 4, 1}), of(kF32, {1, 2, 2, 2, 1}),
                     of(kF32, {1}), zero(kF32), zero(kF32)},
                    {of(kF32, {1, 1, 2, 3, 1})}};
    check_all({deep, with(deep, 6, of(kF32, {1, 3, 2, 2, 1}), "larger than the padded depth")});

    const Case transposed{
        TOSATRANSPOSE_CONV2D,
        {ints({-1, 0, 0, 2}), ints({2, 2}), number(3), flag(false), of(kF32, {1, 4, 4, 2}),
         of(kF32, {3, 3, 3, 2}), of(kF32, {3}), zero(kF32), zero(kF32)},
        {of(kF32, {1, 8, 11, 3})}};
    check_all({transposed,
               with(transposed, 0, ints({-3, 0, 0, 0}), "out_pad [-3, 0] is not within -2"),
               with(transposed, 1, ints({9000, 1}), "stride [9000, 1]"),
               with(transposed, 4, of(kF32, {1, 4, 4, 1}), "input has 1 channels")});
}

TEST(CheckOperator, ProductsAndPools) {
    const Case matmul{TOSAMATMUL,
                      {of(kI8, {2, 3, 4}), of(kI8, {2, 4, 5}), zero(kI8), constant(kI8, {1}, {3})},
                      {of(kI32, {2, 3, 5})}};
    const Case pool{
        TOSAMAX_POOL2D,
        {ints({2, 2}), ints({2, 2}), ints({0, 0, 1, 1}), number(1), of(kI8, {1, 4, 4, 3})},
        {of(kI8, {1, 2, 3, 3})}};
    const Case average{TOSAAVG_POOL2D,
                       {ints({2, 2}), ints({2, 2}), ints({0, 0, 0, 0}), number(1),
                        of(kI16, {1, 4, 4, 3}), zero(kI16), zero(kI16)},
                       {of(kI16, {1, 2, 2, 3})}};
    check_all({matmul, with(matmul, 1, of(kI8, {1, 4, 5}), "do not multiply"),
               with(matmul, 1, of(kI8, {2, 5, 4}), "do not multiply"),
               with(matmul, 4, of(kI8, {2, 3, 5}), "its types are i8 i8 i8 i8 i8"), pool,
               with(pool, 2, ints({0, 0, 2, 1}), "pad [2, 1] is not within 0 to 1"),
               with(pool, 0, ints({0, 2}), "kernel [0, 2]"),
               with(pool, 0, ints({5, 2}), "the kernel is larger than the padded height"),
               with(pool, 3, number(3), "nan_mode [3] is not within 1 to 2"), average,
               with(average, 5, constant(kI16, {1}, {1}), "input_zp of i16 must be 0")});
}

TEST(CheckOperator, FourierTransforms) {
    const Tensor x = of(kF32, {1, 4, 8});
    const Case fft{TOSAFFT2D, {flag(true), flag(false), x, x}, {x, x}};
    const Case rfft{TOSARFFT2D, {flag(false), x}, {of(kF32, {1, 4, 5}), of(kF32, {1, 4, 5})}};
    Case one = rfft;
    one.results.pop_back();
    one.problem = "it has 2 results, and the code takes 1";
    check_all({fft, with(fft, 3, of(kF32, {1, 8, 4}), "differ"), rfft, one,
               with(rfft, 1, of(kF32, {1, 4, 6}), "width 6 is no power of two")});
}

TEST(CheckOperator, Elementwise) {
    const Tensor x = of(kF32, {2, 3});
    const Case clamp{
        TOSACLAMP,
        {constant(kF32, {}, {0xBF800000}), constant(kF32, {}, {0x40C00000}), number(1), x},
        {x}};
    const Case mul{
        TOSAMUL, {of(kI32, {2}), of(kI32, {1}), constant(kI8, {1}, {63})}, {of(kI32, {2})}};
    const Case table{
        TOSATABLE, {of(kI8, {7}), constant(kI8, {256}, Numbers(256, 1))}, {of(kI8, {7})}};
    const Case select{
        TOSASELECT, {of(kB, {1, 3}), of(kI8, {2, 1}), of(kI8, {1, 1})}, {of(kI8, {2, 3})}};
    check_all({clamp,
               with(clamp, 0, constant(kF32, {}, {0x7FC00000}), "min_val is NaN"),
               with(clamp, 0, constant(kF32, {}, {0x41000000}), "min_val is more than max_val"),
               with(clamp, 1, constant(kF32, {}, {0xFF800000}), "min_val is more than max_val"),
               with(clamp, 0, constant(kF32, {1}, {0}), "min_val must be a number, not a tensor"),
               mul,
               with(mul, 2, constant(kI8, {1}, {64}), "shift [64] is not within 0 to 63"),
               with(mul, 2, zero(kI32), "shift must be i8[1]"),
               {TOSAMUL,
                {of(kI8, {2}), of(kI8, {2}), constant(kI8, {1}, {1})},
                {of(kI32, {2})},
                "shift [1] is not within 0 to 0"},
               table,
               with(table, 1, constant(kI8, {513}, Numbers(513)), "table must have shape [256]"),
               with(table, 1, of(kI8, {256}), "table must be a constant"),
               select,
               with(select, 2, of(kI8, {3, 1}), "do not broadcast"),
               with(select, 0, of(kI8, {1, 3}), "its types are i8 i8 i8 i8"),
               {TOSANEGATE, {of(kI8, {2}), constant(kI8, {1}, {5}), zero(kI8)}, {of(kI8, {2})}},
               {TOSAGREATER, {x, x}, {of(kB, {2, 3})}},
               {TOSACAST, {x}, {of(kI8, {2, 3})}},
               {TOSACAST, {x}, {x}, "its types are fp32 fp32"}});
}

TEST(CheckOperator, Rescale) {
    const Case base{TOSARESCALE,
                    {flag(true), number(1), flag(true), flag(false), flag(false), of(kI32, {1, 2}),
                     constant(kI32, {2}, {1, 1 << 30}), constant(kI8, {2}, {2, 62}), zero(kI32),
                     constant(kI8, {1}, {-5})},
                    {of(kI8, {1, 2})}};
    Case wide = with(with(base, 5, of(kI48, {1, 2})), 8, zero(kI48));
    wide.problem = "scale32 of i48";
    Case narrow = with(with(wide, 0, flag(false)), 6, constant(kI16, {2}, {1, 2}));
    Case bytes = with(with(base, 5, of(kI8, {1, 2})), 8, zero(kI8));
    Case shorts = with(with(bytes, 9, constant(kI16, {1}, {-32768})), 10, of(kI16, {1, 2}));
    check_all(
        {base, wide, narrow, with(narrow, 1, number(3), "DOUBLE_ROUND needs scale32"), bytes,
         with(base, 2, flag(false), "must have shape [1], and have [2] and [2]"),
         with(base, 0, flag(false), "multiplier of i32 where scale32 is false"),
         with(base, 6, constant(kI32, {2}, {1, -1}), "multiplier -1 is negative"),
         with(base, 7, constant(kI8, {2}, {1, 2}), "shift 1 is not within 2 to 62"),
         with(base, 7, constant(kI8, {2}, {63, 2}), "shift 63 is not within 2 to 62"),
         with(base, 8, constant(kI32, {1}, {1}), "input_zp 1 of i32"),
         with(base, 4, flag(true), "only i8 and i16 may be unsigned"),
         with(with(bytes, 3, flag(true)), 4, flag(true), "input and output are both unsigned"),
         with(shorts, 4, flag(true)), with(shorts, 4, flag(false), "output_zp -32768 of i16")});
}

TEST(CheckOperator, Layout) {
    const Tensor x = of(kI8, {2, 3, 4});
    const Case argmax{TOSAARGMAX, {number(1), number(1), x}, {of(kI32, {2, 4})}};
    const Case vector{TOSAARGMAX, {number(0), number(1), of(kI8, {3})}, {of(kI32, {1})}};
    const Case concat{TOSACONCAT, {number(1), x, of(kI8, {2, 1, 4}), x}, {of(kI8, {2, 7, 4})}};
    const Case pad{TOSAPAD, {x, ints({0, 1, 0, 0, 2, 0}), zero(kI8)}, {of(kI8, {3, 3, 6})}};
    const Case slice{TOSASLICE, {x, ints({0, 1, 2}), ints({2, 2, 2})}, {of(kI8, {2, 2, 2})}};
    const Case tile{TOSATILE, {x, ints({1, 2, 3})}, {of(kI8, {2, 6, 12})}};
    const Case transpose{TOSATRANSPOSE, {ints({2, 0, 1}), x}, {of(kI8, {4, 2, 3})}};
    const Case reshape{TOSARESHAPE, {x, ints({6, 4})}, {of(kI8, {6, 4})}};
    const int64_t much = 0x7FFFFFFF;
    check_all({argmax,
               vector,
               with(argmax, 0, number(3), "axis 3 is outside of [2, 3, 4]"),
               with(argmax, 0, number(-1), "axis -1 is outside"),
               {TOSAREVERSE, {number(2), x}, {x}},
               {TOSAREDUCE_MAX, {number(2), number(2), x}, {of(kI8, {2, 3, 1})}},
               concat,
               with(concat, 2, of(kI8, {1, 1, 4}), "differ beside axis 1"),
               with(concat, 3, of(kI8, {2, 3}), "differ beside axis 1"),
               with(concat, 3, of(kI16, {2, 3, 4}), "operands have different types"),
               pad,
               with(pad, 1, ints({0, 1}), "padding must have 6 numbers, and has 2"),
               with(pad, 1, ints({0, 1, 0, 0, -1, 0}), "padding"),
               slice,
               with(slice, 1, ints({0, 2, 2}), "are outside of [2, 3, 4]"),
               with(slice, 1, ints({-1, 1, 2}), "are outside"),
               with(slice, 2, ints({2, 0, 2}), "are outside"),
               tile,
               with(tile, 1, ints({1, 0, 3}), "multiples [1, 0, 3]"),
               transpose,
               with(transpose, 0, ints({2, 0, 2}), "perms [2, 0, 2] is no permutation"),
               with(transpose, 0, ints({0, 1}), "perms must have 3 numbers"),
               with(transpose, 0, ints({0, 1, 3}), "is no permutation"),
               reshape,
               with(reshape, 1, ints({6, 5}), "has not as many elements"),
               with(reshape, 1, ints({-6, -4}), "shape [-6, -4]"),
               with(reshape, 1, ints({much, much, much}), "is out of range"),
               with(reshape, 1, constant(kI32, {1, 1}, {24}), "shape must have rank 1")});
}

TEST(CheckOperator, ScatterGatherAndResize) {
    const Tensor values = of(kI8, {2, 5, 3});
    const Case gather{TOSAGATHER, {values, of(kI32, {2, 4})}, {of(kI8, {2, 4, 3})}};
    const Case scatter{TOSASCATTER, {values, of(kI32, {2, 4}), of(kI8, {2, 4, 3})}, {values}};
    const Case resize{
        TOSARESIZE,
        {number(2), of(kI8, {1, 4, 4, 3}), ints({4, 2, 4, 2}), ints({-1, -1}), ints({1, 1})},
        {of(kI32, {1, 8, 8, 3})}};
    check_all(
        {gather, with(gather, 1, of(kI32, {1, 4}), "different batches"),
         with(gather, 0, of(kI8, {5, 3}), "values must have rank 3"), scatter,
         with(scatter, 2, of(kI8, {2, 5, 3}), "do not belong together"),
         with(with(scatter, 1, of(kI32, {2, 6})), 2, of(kI8, {2, 6, 3}), "6 rows are written to 5"),
         resize, with(resize, 2, ints({4, 0, 4, 2}), "scale's denominator [0]"),
         with(resize, 2, ints({2049, 2, 4, 2}), "scale's numerator [2049]"),
         with(resize, 2, ints({2048, 2, 4, 2}), "scale is more than 256"),
         with(resize, 2, ints({4, 64, 4, 2}), "scale's denominator [64]"),
         with(resize, 3, ints({-5, -1}), "offset [-5]"),
         with(resize, 4, ints({4, 1}), "border [4]"),
         with(resize, 4, ints({0, 1}), "height: 13 is no multiple"),
         with(resize, 0, number(1), "NEAREST_NEIGHBOR from i8 to i32"),
         with(resize, 5, of(kI8, {1, 8, 8, 3}), "BILINEAR from i8 to i8")});
}

}  // namespace
}  // namespace arm_runtime::vgf
