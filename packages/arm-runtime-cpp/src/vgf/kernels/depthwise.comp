#version 460
#extension GL_GOOGLE_include_directive : require
// DEPTHWISE_CONV2D with one filter a channel and channels in fours: a thread computes four channels of a pixel. Weights lie
// in the constants as they are. Of int16 by int8, the products of a window fit 32 bits, and the sum with the bias has 48.
#include "memory.glsl"
#include "program.glsl"
layout(local_size_x = 64) in;

layout(constant_id = 20) const int type = TYPE_INT8;
layout(constant_id = 21) const int kernel_height = 3;
layout(constant_id = 22) const int kernel_width = 3;
layout(constant_id = 23) const int a_buffer = 0;

void main() {
    prepare();
    const int height = p[5], width = p[6], c4_count = p[7], out_height = p[8], out_width = p[9];
    const int stride_y = p[10], stride_x = p[11], pad_y = p[12], pad_x = p[13], dilation_y = p[14], dilation_x = p[15];
    const int zero = p[16];
    const int f = 4 * (group_number() * 64 + int(gl_LocalInvocationID.x));
    if (f >= p[1]) return;
    int at = f / 4;
    const int c4 = at % c4_count;
    at /= c4_count;
    const int x = at % out_width;
    at /= out_width;
    const int y = at % out_height, image = at / out_height;
    const int weight_type = type == TYPE_INT16 ? TYPE_INT8 : type;
    ivec4 sum = type == TYPE_INT16 ? ivec4(0) : ivec4(constants4[p[4] + c4]);
    // Reads do not wait for one another: all are made, of pixels outside the image from its edge.
    [[unroll]] for (int ky = 0; ky < kernel_height; ++ky) {
        const int iy = y * stride_y - pad_y + ky * dilation_y;
        const bool row_inside = iy >= 0 && iy < height;
        const int row = p[2] + 4 * ((image * height + clamp(iy, 0, height - 1)) * width * c4_count + c4);
        [[unroll]] for (int kx = 0; kx < kernel_width; ++kx) {
            const ivec4 w = elements(BUFFER_CONSTANTS, weight_type, p[3] + 4 * ((ky * kernel_width + kx) * c4_count + c4));
            const int ix = x * stride_x - pad_x + kx * dilation_x;
            const bool inside = row_inside && ix >= 0 && ix < width;
            const ivec4 a = elements(a_buffer, type, row + 4 * clamp(ix, 0, width - 1) * c4_count);
            if (type < TYPE_FLOAT16) {
                sum += inside ? (a - zero) * w : ivec4(0);
            } else if (inside) {
                sum = floatBitsToInt(intBitsToFloat(sum) + intBitsToFloat(a) * intBitsToFloat(w));
            }
        }
    }
    if (type == TYPE_INT16) {
        ivec4 high = sum >> 31;
        add_wide(sum, high, ivec4(constants4[p[4] + 2 * c4]), ivec4(constants4[p[4] + 2 * c4 + 1]));
        r[1] = high;
    }
    r[0] = sum;
    run(f);
}
