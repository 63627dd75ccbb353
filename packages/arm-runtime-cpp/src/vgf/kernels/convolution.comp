#version 460
#extension GL_GOOGLE_include_directive : require
// Any convolution (2D, 3D, depthwise, transposed) and matrix product of any type: a thread computes four elements of
// the result, one after the other. For shapes that the faster kernels do not take.
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

void main() {
    const int f = 4 * (group_number() * 64 + int(gl_LocalInvocationID.x));
    if (f >= p[1]) return;
    const int a_at = p[2], w_at = p[3], b_at = p[4], a_zero = p[5], w_zero = p[6];
    const int depth = p[7], height = p[8], width = p[9], channels = p[10];          // of the input
    const int out_depth = p[11], out_height = p[12], out_width = p[13], filters = p[14];
    const int kd = p[15], kh = p[16], kw = p[17];
    const int stride_z = p[18], stride_y = p[19], stride_x = p[20];
    const int pad_z = p[21], pad_y = p[22], pad_x = p[23];
    const int dilation_z = p[24], dilation_y = p[25], dilation_x = p[26];
    const int biases = p[27];  // 1: one for all
    [[unroll]] for (int lane = 0; lane < 4; ++lane) {
        int at = f + lane;
        const int oc = at % filters;
        at /= filters;
        const int x = at % out_width;
        at /= out_width;
        const int y = at % out_height;
        at /= out_height;
        const int z = at % out_depth, image = at / out_depth;
        Sum sum = Sum(0, 0, 0.0);
        if (biases > 0) {
            const int i = b_at + (biases == 1 ? 0 : oc);
            sum.low = element(bias_buffer, bias_type, i);
            if (bias_type == TYPE_INT48) sum.high = int(word(bias_buffer, 2 * i + 1));
            sum.f = intBitsToFloat(sum.low);
        }
        if (kind == KIND_MATMUL) {
            // [image, y, channels] by [image, channels, filters]
            const int row = a_at + (image * out_height + y) * channels, column = w_at + image * channels * filters + oc;
            for (int c = 0; c < channels; ++c) {
                add_product(sum, element(input_buffer, input_type, row + c),
                            element(weight_buffer, weight_type, column + c * filters), a_zero, w_zero);
            }
        } else {
            const int first = kind == KIND_DEPTHWISE ? oc / (filters / channels) : 0;
            const int count = kind == KIND_DEPTHWISE ? 1 : channels;
            for (int dz = 0; dz < kd; ++dz) {
                for (int dy = 0; dy < kh; ++dy) {
                    for (int dx = 0; dx < kw; ++dx) {
                        int iz = z * stride_z - pad_z + dz * dilation_z;
                        int iy = y * stride_y - pad_y + dy * dilation_y;
                        int ix = x * stride_x - pad_x + dx * dilation_x;
                        if (kind == KIND_TRANSPOSED) {
                            iz = 0;
                            iy = y + pad_y - dy;
                            ix = x + pad_x - dx;
                            if (iy % stride_y != 0 || ix % stride_x != 0) continue;
                            iy /= stride_y;
                            ix /= stride_x;
                        }
                        if (iz < 0 || iz >= depth || iy < 0 || iy >= height || ix < 0 || ix >= width) continue;
                        const int pixel = a_at + (((image * depth + iz) * height + iy) * width + ix) * channels + first;
                        const int tap = (dz * kh + dy) * kw + dx;
                        const int weights = w_at + (kind == KIND_DEPTHWISE ? tap * filters + oc
                                                                           : (oc * kd * kh * kw + tap) * channels);
                        for (int c = 0; c < count; ++c) {
                            add_product(sum, element(input_buffer, input_type, pixel + c),
                                        element(weight_buffer, weight_type, weights + c), a_zero, w_zero);
                        }
                    }
                }
            }
        }
        r[0][lane] = input_type >= TYPE_FLOAT16 ? floatBitsToInt(sum.f) : sum.low;
        r[1][lane] = sum.high;
    }
    run(f);
}
