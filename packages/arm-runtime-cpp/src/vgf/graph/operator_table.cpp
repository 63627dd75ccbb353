#include "operator_table.hpp"

#include <spirv/unified1/TOSA.001000.1.h>

namespace arm_runtime::vgf {
namespace {

// acc_type comes first, as in the grammar.
constexpr const char* kConvolution =
    "i32 i8 i8 i32 i8 i8 i32; i48 i16 i8 i48 i16 i8 i48; fp16 fp16 fp16 fp16 fp16 fp16 fp16; "
    "fp32 fp16 fp16 fp16 fp16 fp16 fp16; fp32 fp32 fp32 fp32 fp32 fp32 fp32; "
    "fp32 bf16 bf16 bf16 bf16 bf16 bf16; "
    "fp16 fp8e4m3 fp8e4m3 fp16 fp8e4m3 fp8e4m3 fp16; "
    "fp16 fp8e5m2 fp8e5m2 fp16 fp8e5m2 fp8e5m2 fp16";
constexpr const char* kAveragePool =
    "i32 i8 i8 i8 i8; i32 i16 i16 i16 i16; fp16 fp16 fp16 fp16 fp16; fp32 fp16 fp16 fp16 fp16; "
    "fp32 fp32 fp32 fp32 fp32; fp32 bf16 bf16 bf16 bf16; fp16 fp8e4m3 fp8e4m3 fp8e4m3 fp8e4m3; "
    "fp16 fp8e5m2 fp8e5m2 fp8e5m2 fp8e5m2";
constexpr const char* kMatmul =
    "i8 i8 i8 i8 i32; i16 i16 i16 i16 i48; fp16 fp16 fp16 fp16 fp16; fp16 fp16 fp16 fp16 fp32; "
    "fp32 fp32 fp32 fp32 fp32; bf16 bf16 bf16 bf16 fp32; "
    "fp8e4m3 fp8e4m3 fp8e4m3 fp8e4m3 fp16; fp8e5m2 fp8e5m2 fp8e5m2 fp8e5m2 fp16";
constexpr const char* kArgmax =
    "i8 i32; i16 i32; fp16 i32; bf16 i32; fp32 i32; fp8e4m3 i32; fp8e5m2 i32";
constexpr const char* kFloats = "= fp16 bf16 fp32";
constexpr const char* kFloatsAndInt32 = "= fp16 bf16 fp32 i32";
constexpr const char* kFloatsAndIntegers = "= fp16 bf16 fp32 i8 i16 i32";
constexpr const char* kIntegers = "= i8 i16 i32";
constexpr const char* kInt32 = "= i32";
constexpr const char* kBool = "= bool";
constexpr const char* kCompare = "fp16 fp16 bool; bf16 bf16 bool; fp32 fp32 bool; i32 i32 bool";
constexpr const char* kMove = "= bool i8 i16 i32 fp16 bf16 fp32 fp8e4m3 fp8e5m2";
constexpr const char* kPool = "= i8 i16 fp16 bf16 fp32 fp8e4m3 fp8e5m2";
constexpr const char* kClamp = "= i8 i16 fp16 bf16 fp32";
constexpr const char* kMul =
    "fp16 fp16 fp16; bf16 bf16 bf16; fp32 fp32 fp32; i8 i8 i32; i16 i16 i32; i32 i32 i32";
constexpr const char* kSelect =
    "bool bool bool bool; bool i8 i8 i8; bool i16 i16 i16; bool i32 i32 i32; "
    "bool fp16 fp16 fp16; bool bf16 bf16 bf16; bool fp32 fp32 fp32";
constexpr const char* kGather =
    "i8 i32 i8; i16 i32 i16; i32 i32 i32; fp16 i32 fp16; bf16 i32 bf16; fp32 i32 fp32; "
    "fp8e4m3 i32 fp8e4m3; fp8e5m2 i32 fp8e5m2";
constexpr const char* kScatter =
    "i8 i32 i8 i8; i16 i32 i16 i16; i32 i32 i32 i32; fp16 i32 fp16 fp16; bf16 i32 bf16 bf16; "
    "fp32 i32 fp32 fp32; fp8e4m3 i32 fp8e4m3 fp8e4m3; fp8e5m2 i32 fp8e5m2 fp8e5m2";
constexpr const char* kResize = "i8 i8; i8 i32; i16 i16; i16 i48; fp16 fp16; bf16 bf16; fp32 fp32";
constexpr const char* kCast =
    "bool i8; bool i16; bool i32; i8 bool; i8 i16; i8 i32; i16 bool; i16 i8; i16 i32; "
    "i32 bool; i32 i8; i32 i16; "
    "fp16 i8; fp16 i16; fp16 i32; i8 fp16; i16 fp16; i32 fp16; fp16 fp32; "
    "fp32 i8; fp32 i16; fp32 i32; i8 fp32; i16 fp32; i32 fp32; fp32 fp16; "
    "bf16 i8; bf16 i16; bf16 i32; i8 bf16; i16 bf16; i32 bf16; bf16 fp32; fp32 bf16; "
    "fp8e4m3 fp16; fp8e4m3 bf16; fp8e4m3 fp32; fp16 fp8e4m3; bf16 fp8e4m3; fp32 fp8e4m3; "
    "fp8e5m2 fp16; fp8e5m2 bf16; fp8e5m2 fp32; fp16 fp8e5m2; bf16 fp8e5m2; fp32 fp8e5m2";
constexpr const char* kRescale =  // input, zero points, result
    "i8 i8 i8 i8; i8 i8 i16 i16; i8 i8 i32 i32; i16 i16 i8 i8; i16 i16 i16 i16; i16 i16 i32 i32; "
    "i32 i32 i8 i8; i32 i32 i16 i16; i32 i32 i32 i32; i48 i48 i8 i8; i48 i48 i16 i16; "
    "i48 i48 i32 i32";

constexpr const char* kConvolution2dOperands =
    "pad:ints4 stride:ints2 dilation:ints2 acc_type:acc local_bound:flag "
    "input weight bias input_zp:zero weight_zp:zero";
constexpr const char* kInput = "input";
constexpr const char* kInput1 = "input1";
constexpr const char* kTwo = "input1 input2";
constexpr const char* kAxis = "axis:scalar input";
constexpr const char* kAxisNan = "axis:scalar nan_mode:enum2 input";

// Indexed by TOSAInstructions.
constexpr OperatorRow kRows[] = {
    {"ARGMAX", kAxisNan, kArgmax, check_argmax},
    {"AVG_POOL2D",
     "kernel:ints2 stride:ints2 pad:ints4 acc_type:acc input input_zp:zero output_zp:zero",
     kAveragePool, check_pool},
    {"CONV2D", kConvolution2dOperands, kConvolution, check_convolution_2d},
    {"CONV3D",
     "pad:ints6 stride:ints3 dilation:ints3 acc_type:acc local_bound:flag "
     "input weight bias input_zp:zero weight_zp:zero",
     kConvolution, check_convolution_3d},
    {"DEPTHWISE_CONV2D", kConvolution2dOperands, kConvolution, check_depthwise},
    {"FFT2D", "inverse:flag local_bound:flag input_real input_imag", "= fp32", check_fft},
    {"MATMUL", "A B A_zp:zero B_zp:zero", kMatmul, check_matmul},
    {"MAX_POOL2D", "kernel:ints2 stride:ints2 pad:ints4 nan_mode:enum2 input", kPool, check_pool},
    {"RFFT2D", "local_bound:flag input_real", "= fp32", check_rfft},
    {"TRANSPOSE_CONV2D",
     "out_pad:ints4 stride:ints2 acc_type:acc local_bound:flag "
     "input weight bias input_zp:zero weight_zp:zero",
     kConvolution, check_transpose_convolution},
    {"CLAMP", "min_val:value max_val:value nan_mode:enum2 input", kClamp, check_clamp},
    {"ERF", kInput, kFloats, check_unary},
    {"SIGMOID", kInput, kFloats, check_unary},
    {"TANH", kInput, kFloats, check_unary},
    {"ADD", kTwo, kFloatsAndInt32, check_binary},
    {"ARITHMETIC_RIGHT_SHIFT", "round:flag input1 input2", kIntegers, check_binary},
    {"BITWISE_AND", kTwo, kIntegers, check_binary},
    {"BITWISE_OR", kTwo, kIntegers, check_binary},
    {"BITWISE_XOR", kTwo, kIntegers, check_binary},
    {"INTDIV", kTwo, kInt32, check_binary},
    {"LOGICAL_AND", kTwo, kBool, check_binary},
    {"LOGICAL_LEFT_SHIFT", kTwo, kIntegers, check_binary},
    {"LOGICAL_RIGHT_SHIFT", kTwo, kIntegers, check_binary},
    {"LOGICAL_OR", kTwo, kBool, check_binary},
    {"LOGICAL_XOR", kTwo, kBool, check_binary},
    {"MAXIMUM", "nan_mode:enum2 input1 input2", kFloatsAndInt32, check_binary},
    {"MINIMUM", "nan_mode:enum2 input1 input2", kFloatsAndInt32, check_binary},
    {"MUL", "input1 input2 shift:other", kMul, check_mul},
    {"POW", kTwo, kFloats, check_binary},
    {"SUB", kTwo, kFloatsAndInt32, check_binary},
    {"TABLE", "input1 table:const", "i8 i8 i8; i16 i16 i32", check_table},
    {"ABS", kInput1, kFloatsAndInt32, check_unary1},
    {"BITWISE_NOT", kInput1, kIntegers, check_unary1},
    {"CEIL", kInput1, kFloats, check_unary1},
    {"CLZ", kInput1, kInt32, check_unary1},
    {"COS", kInput1, kFloats, check_unary1},
    {"EXP", kInput1, kFloats, check_unary1},
    {"FLOOR", kInput1, kFloats, check_unary1},
    {"LOG", kInput1, kFloats, check_unary1},
    {"LOGICAL_NOT", kInput1, kBool, check_unary1},
    {"NEGATE", "input1 input1_zp:zero output_zp:zero", kFloatsAndIntegers, check_unary1},
    {"RECIPROCAL", kInput1, kFloats, check_unary1},
    {"RSQRT", kInput1, kFloats, check_unary1},
    {"SIN", kInput1, kFloats, check_unary1},
    {"SELECT", "input1 input2 input3", kSelect, check_select},
    {"EQUAL", kTwo, kCompare, check_binary},
    {"GREATER", kTwo, kCompare, check_binary},
    {"GREATER_EQUAL", kTwo, kCompare, check_binary},
    {"REDUCE_ALL", kAxis, kBool, check_reduce},
    {"REDUCE_ANY", kAxis, kBool, check_reduce},
    {"REDUCE_MAX", kAxisNan, kFloatsAndIntegers, check_reduce},
    {"REDUCE_MIN", kAxisNan, kFloatsAndIntegers, check_reduce},
    {"REDUCE_PRODUCT", kAxis, kFloats, check_reduce},
    {"REDUCE_SUM", kAxis, kFloatsAndInt32, check_reduce},
    {"CONCAT", "axis:scalar input1*", kMove, check_concat},
    {"PAD", "input1 padding:list pad_const:one", kMove, check_pad},
    {"RESHAPE", "input1 shape:list", kMove, check_reshape},
    {"REVERSE", "axis:scalar input1", kMove, check_reverse},
    {"SLICE", "input1 start:list size:list", kMove, check_slice},
    {"TILE", "input1 multiples:list", kMove, check_tile},
    {"TRANSPOSE", "perms:list input1", kMove, check_transpose},
    {"GATHER", "values indices", kGather, check_gather},
    {"SCATTER", "values_in indices input", kScatter, check_scatter},
    {"RESIZE", "mode:enum2 input scale:ints4 offset:ints2 border:ints2", kResize, check_resize},
    {"CAST", kInput, kCast, check_unary},
    {"RESCALE",
     "scale32:flag rounding_mode:enum3 per_channel:flag input_unsigned:flag output_unsigned:flag "
     "input multiplier:other shift:other input_zp:const output_zp:const",
     kRescale, check_rescale},
};
static_assert(sizeof(kRows) / sizeof(*kRows) == TOSARESCALE + 1);

}  // namespace

const OperatorRow& operator_row(uint32_t opcode) {
    if (opcode >= sizeof(kRows) / sizeof(*kRows)) {
        throw Error("TOSA.001000.1 has no instruction " + std::to_string(opcode));
    }
    return kRows[opcode];
}

const char* opcode_name(uint32_t opcode) { return operator_row(opcode).name; }

}  // namespace arm_runtime::vgf
