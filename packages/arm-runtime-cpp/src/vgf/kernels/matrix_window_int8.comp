#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
// CONV2D of large pictures, of int8, summed as int32.
#define ELEMENT int8_t
#define ELEMENT_BYTES 1
#define SUM int
#define ADDED(a, b) ((a) + (b))
#include "matrix_window.glsl"
