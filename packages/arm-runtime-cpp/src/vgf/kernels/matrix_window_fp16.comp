#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
// CONV2D of large pictures, of float16, summed as float32.
#define ELEMENT float16_t
#define ELEMENT_BYTES 2
#define SUM float
#define ADDED(a, b) floatBitsToUint(uintBitsToFloat(a) + uintBitsToFloat(b))
#include "matrix_window.glsl"
