#version 460
#extension GL_GOOGLE_include_directive : require
// Any convolution (2D, 3D, depthwise, transposed) and matrix product of any type: `split` threads compute four elements of
// the result, each a part of their sums. For shapes and types that the faster kernels do not take.
#include "memory.glsl"
#include "program.glsl"
layout(local_size_x = 64) in;

#define KIND_CONVOLUTION 0
#define KIND_DEPTHWISE 1
#define KIND_TRANSPOSED 2
#define KIND_MATMUL 3
layout(constant_id = 20) const int kind = 0;
layout(constant_id = 21) const int input_type = TYPE_INT8;
layout(constant_id = 22) const int weight_type = TYPE_INT8;
layout(constant_id = 23) const int bias_type = TYPE_INT32;  // also of the sum
layout(constant_id = 24) const int input_buffer = 0;
layout(constant_id = 25) const int weight_buffer = 1;
layout(constant_id = 26) const int bias_buffer = 1;
layout(constant_id = 27) const int split = 1;  // 1, 2, 4, ... 64

shared ivec4 low_parts[64];  // or bits of floats
shared ivec4 high_parts[64];

struct Sum {
    int low, high;
    float f;
};

void add_product(inout Sum sum, int a, int w, int a_zero, int w_zero) {
    if (input_type >= TYPE_FLOAT16) {
        sum.f += intBitsToFloat(a) * intBitsToFloat(w);
        return;
    }
    const int v = (a - a_zero) * (w - w_zero);  // int16 by int8, or int8 by int8: within 25 bits
    if (bias_type != TYPE_INT48) {
        sum.low += v;
        return;
    }
    uint carry;
    sum.low = int(uaddCarry(uint(sum.low), uint(v), carry));
    sum.high += (v >> 31) + int(carry);
}

/// Adds what other threads have of the sum.
void add_part(inout Sum sum, int low, int high) {
    sum.f += intBitsToFloat(low);
    uint carry;
    sum.low = int(uaddCarry(uint(sum.low), uint(low), carry));
    sum.high += high + int(carry);
}

void main() {
    prepare();
    const int lane_of_split = int(gl_LocalInvocationID.x) % split;
    const int f = 4 * ((group_number() * 64 + int(gl_LocalInvocationID.x)) / split);
    const int a_at = p[2], w_at = p[3], b_at = p[4], a_zero = p[5], w_zero = p[6];
    const int depth = p[7], height = p[8], width = p[9], channels = p[10];          // of the input
    const int out_depth = p[11], out_height = p[12], out_width = p[13], filters = p[14];
    const int kh = p[16], kw = p[17], taps = p[15] * kh * kw;
    const int stride_z = p[18], stride_y = p[19], stride_x = p[20];
    const int pad_z = p[21], pad_y = p[22], pad_x = p[23];
    const int dilation_z = p[24], dilation_y = p[25], dilation_x = p[26];
    const int biases = p[27];  // 1: one for all
    const int per_tap = kind == KIND_DEPTHWISE ? 1 : channels;
    ivec4 low = ivec4(0), high = ivec4(0);
    for (int lane = 0; lane < 4 && f < p[1]; ++lane) {
        int at = f + lane;
        const int oc = at % filters;
        at /= filters;
        const int x = at % out_width;
        at /= out_width;
        const int y = at % out_height;
        at /= out_height;
        const int z = at % out_depth, image = at / out_depth;
        Sum sum = Sum(0, 0, 0.0);
        if (biases > 0 && lane_of_split == 0) {
            const int i = b_at + (biases == 1 ? 0 : oc);
            sum.low = element(bias_buffer, bias_type, i);
            if (bias_type == TYPE_INT48) sum.high = int(word(bias_buffer, 2 * i + 1));
            sum.f = intBitsToFloat(sum.low);
        }
        if (kind == KIND_MATMUL) {
            // [image, y, channels] by [image, channels, filters]
            const int row = a_at + (image * out_height + y) * channels, column = w_at + image * channels * filters + oc;
            for (int c = lane_of_split; c < channels; c += split) {
                add_product(sum, element(input_buffer, input_type, row + c),
                            element(weight_buffer, weight_type, column + c * filters), a_zero, w_zero);
            }
        } else {
            const int first = kind == KIND_DEPTHWISE ? oc / (filters / channels) : 0;
            int tap = lane_of_split / per_tap, c = lane_of_split % per_tap;
            while (tap < taps) {
                const int dx = tap % kw, dy = tap / kw % kh, dz = tap / kw / kh;
                int iz = z * stride_z - pad_z + dz * dilation_z;
                int iy = y * stride_y - pad_y + dy * dilation_y;
                int ix = x * stride_x - pad_x + dx * dilation_x;
                bool inside = true;
                if (kind == KIND_TRANSPOSED) {
                    iz = 0;
                    iy = y + pad_y - dy;
                    ix = x + pad_x - dx;
                    // Of a negative number, GLSL leaves the remainder undefined: an H100 takes -1 for a multiple of 3.
                    inside = iy >= 0 && ix >= 0 && iy % stride_y == 0 && ix % stride_x == 0;
                    iy /= stride_y;
                    ix /= stride_x;
                }
                inside = inside && iz >= 0 && iz < depth && iy >= 0 && iy < height && ix >= 0 && ix < width;
                const int pixel = a_at + (((image * depth + iz) * height + iy) * width + ix) * channels + first;
                const int weights = w_at + (kind == KIND_DEPTHWISE ? tap * filters + oc : (oc * taps + tap) * channels);
                // This thread's channels of the tap.
                for (; c < per_tap; c += split) {
                    if (!inside) continue;
                    add_product(sum, element(input_buffer, input_type, pixel + c),
                                element(weight_buffer, weight_type, weights + c), a_zero, w_zero);
                }
                c -= per_tap;
                ++tap;
                while (c >= per_tap) {
                    c -= per_tap;
                    ++tap;
                }
            }
        }
        low[lane] = input_type >= TYPE_FLOAT16 ? floatBitsToInt(sum.f) : sum.low;
        high[lane] = sum.high;
    }
    if (split > 1) {
        low_parts[gl_LocalInvocationID.x] = low;
        high_parts[gl_LocalInvocationID.x] = high;
        barrier();
        if (lane_of_split != 0) return;
        [[unroll]] for (int lane = 0; lane < 4; ++lane) {
            Sum sum = Sum(low[lane], high[lane], intBitsToFloat(low[lane]));
            for (int other = 1; other < split; ++other) {
                const uint i = gl_LocalInvocationID.x + other;
                add_part(sum, low_parts[i][lane], high_parts[i][lane]);
            }
            low[lane] = input_type >= TYPE_FLOAT16 ? floatBitsToInt(sum.f) : sum.low;
            high[lane] = sum.high;
        }
    }
    if (f >= p[1]) return;
    r[0] = low;
    r[1] = high;
    run(f);
}
