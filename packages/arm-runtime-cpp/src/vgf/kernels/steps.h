// The codes that the planner (C++) and the kernels (GLSL) share. A step of a fused program is one specialization
// constant: code | destination << 8 | operands << 12, 16, 20 | mode << 24; its numbers are in the parameters.

#define ARM_VGF_MAX_STEPS 20
#define ARM_VGF_REGISTERS 8

// Types of elements in memory.
#define TYPE_INT8 0
#define TYPE_INT16 1
#define TYPE_INT32 2
#define TYPE_INT48 3
#define TYPE_FLOAT16 4
#define TYPE_BFLOAT16 5
#define TYPE_FLOAT32 6

// Buffers, which are the bindings of the descriptor set.
#define BUFFER_WORK 0
#define BUFFER_CONSTANTS 1
#define BUFFER_INPUTS 2
#define BUFFER_OUTPUTS 3

// Which element a step reads for the element `f` of its result.
#define ACCESS_FLAT 0
#define ACCESS_SCALAR 1
#define ACCESS_CHANNEL 2
#define ACCESS_STRIDED 3

// LOAD: mode type | access << 3 | buffer << 5; first element, channels or place of the strides.
// STORE: mode type | buffer << 5; first element.
#define STEP_NOTHING 0
#define STEP_LOAD 1
#define STEP_STORE 2

// RESCALE: multiplier, shift, zero points of input and output; or, per channel, the place of the table.
#define STEP_RESCALE 3
#define STEP_RESCALE48 4
#define RESCALE_PER_CHANNEL 1
#define RESCALE_DOUBLE_ROUND 2
#define RESCALE_INPUT_UNSIGNED 4
#define RESCALE_OUTPUT_SHIFT 3
#define RESCALE_TO_INT8 0
#define RESCALE_TO_UINT8 1
#define RESCALE_TO_INT16 2
#define RESCALE_TO_UINT16 3
#define RESCALE_TO_INT32 4
#define RESCALE_16_BIT 64

// Integers. Those that may leave their type take it as mode.
#define STEP_ADD 8
#define STEP_SUB 9
#define STEP_MUL 10
#define STEP_MUL_SHIFT 11
#define STEP_MAX 12
#define STEP_MIN 13
#define STEP_CLAMP 14
#define STEP_ABS 15
#define STEP_NEGATE 16
#define STEP_AND 17
#define STEP_OR 18
#define STEP_XOR 19
#define STEP_NOT 20
#define STEP_SHIFT_LEFT 21
#define STEP_SHIFT_RIGHT 22
#define STEP_SHIFT_RIGHT_ARITHMETIC 23
#define STEP_INTDIV 24
#define STEP_CLZ 25
#define STEP_EQUAL 26
#define STEP_GREATER 27
#define STEP_GREATER_EQUAL 28
#define STEP_LOGICAL_NOT 29
#define STEP_SELECT 30
#define STEP_TABLE8 31
#define STEP_TABLE16 32
#define STEP_WRAP 33
#define STEP_TO_BOOL 34

// Floating point: registers hold single precision.
#define STEP_FADD 40
#define STEP_FSUB 41
#define STEP_FMUL 42
#define STEP_FMAX 43
#define STEP_FMIN 44
#define STEP_FCLAMP 45
#define STEP_FABS 46
#define STEP_FNEGATE 47
#define STEP_FEQUAL 48
#define STEP_FGREATER 49
#define STEP_FGREATER_EQUAL 50
#define STEP_CEIL 51
#define STEP_FLOOR 52
#define STEP_EXP 53
#define STEP_LOG 54
#define STEP_SIN 55
#define STEP_COS 56
#define STEP_TANH 57
#define STEP_SIGMOID 58
#define STEP_ERF 59
#define STEP_RECIPROCAL 60
#define STEP_RSQRT 61
#define STEP_POW 62
#define STEP_FROUND 63
#define STEP_TO_FLOAT 64
#define STEP_TO_INT 65
#define STEP_FTO_BOOL 66
#define NAN_IGNORE 1
