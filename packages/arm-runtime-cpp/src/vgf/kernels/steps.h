// Numbers that the planner (C++) and the kernels (GLSL) share.

// NOLINTBEGIN(modernize-macro-to-enum): GLSL has no enumerations.

// Steps of a program, at most.
#define MAX_STEPS 64

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

// Rows and columns of what matrix units add up at once: the kernels for them know this one product.
#define MATRIX_SIDE 16

// Words that a thread of kernels/port_buffer.comp copies.
#define PORT_WORDS 8

// Pixels across of a tile of kernels/window_fp32.comp.
#define WINDOW_WIDTH 32

// Which element a step reads for the element `f` of its result.
#define ACCESS_FLAT 0
#define ACCESS_SCALAR 1
#define ACCESS_CHANNEL 2
#define ACCESS_STRIDED 3

// LOAD: mode type | access << 3 | buffer << 5; first element, channels or place of the strides.
// STORE: mode type | buffer << 5; first element.

// RESCALE: multiplier, shift, zero points of input and output; or, per channel, the table's place,
// channels, and the zero points.
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
#define RESCALE_FAR 128   // all shifts are above 32: the product's high word decides
#define RESCALE_NEAR 256  // all shifts are below 32

// MAXIMUM, MINIMUM and CLAMP of floats.
#define NAN_IGNORE 1

// NOLINTEND(modernize-macro-to-enum)
