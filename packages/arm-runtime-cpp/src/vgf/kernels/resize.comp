#version 460
#extension GL_GOOGLE_include_directive : require
// RESIZE: a thread makes `fours` times four elements of a pixel of the result. Bilinear weights of integers are not divided by their sum; of int16 the result is
// int48.
#include "memory.glsl"
#include "program.glsl"
layout(local_size_x = 64) in;

layout(constant_id = 20) const int type = TYPE_INT8;
layout(constant_id = 21) const bool bilinear = false;
layout(constant_id = 22) const bool vectors = false;  // the channels are a multiple of four
layout(constant_id = 23) const int fours = 1;         // where they are more, the channels are a multiple of them all
layout(constant_id = 24) const int input_buffer = 0;

const bool floats = type >= TYPE_FLOAT16;

/// Along an axis: two neighbours, and how far behind the first the place is, in parts of the scale.
struct Place {
    int first, second, part;
};

Place place_of(int at, int size, int scale_n, int scale_d, int offset) {
    const int place = at * scale_d + offset;
    const int whole = place >= 0 ? place / scale_n : -((scale_n - 1 - place) / scale_n);
    return Place(clamp(whole, 0, size - 1), clamp(whole + 1, 0, size - 1), place - whole * scale_n);
}

ivec4 at(int i) {
    return vectors ? elements(input_buffer, type, i) : ivec4(element(input_buffer, type, i));
}

void add(inout ivec4 low, inout ivec4 high, ivec4 v, int weight) {
    if (type != TYPE_INT16) {
        low += v * weight;
        return;
    }
    ivec4 product_high, product_low;
    imulExtended(v, ivec4(weight), product_high, product_low);
    uvec4 carry;
    low = ivec4(uaddCarry(uvec4(low), uvec4(product_low), carry));
    high += product_high + ivec4(carry);
}

/// Four elements that lie `next` elements behind the first ones of four neighbours.
void resize_four(const in int corner[4], const in Place y, const in Place x, int next, int lane) {
    const int n_y = p[8], n_x = p[11];
    ivec4 low = ivec4(0), high = ivec4(0);
    if (!bilinear) {
        low = at(corner[(2 * y.part >= n_y ? 2 : 0) + (2 * x.part >= n_x ? 1 : 0)] + next);
    } else if (floats) {
        const float dy = float(y.part) / float(n_y), dx = float(x.part) / float(n_x);
        const vec4 upper = mix(intBitsToFloat(at(corner[0] + next)), intBitsToFloat(at(corner[1] + next)), dx);
        const vec4 lower = mix(intBitsToFloat(at(corner[2] + next)), intBitsToFloat(at(corner[3] + next)), dx);
        low = floatBitsToInt(mix(upper, lower, dy));
    } else {
        add(low, high, at(corner[0] + next), (n_y - y.part) * (n_x - x.part));
        add(low, high, at(corner[1] + next), (n_y - y.part) * x.part);
        add(low, high, at(corner[2] + next), y.part * (n_x - x.part));
        add(low, high, at(corner[3] + next), y.part * x.part);
    }
    if (vectors) {
        r[0] = low;
        r[1] = high;
    } else {
        r[0][lane] = low.x;
        r[1][lane] = high.x;
    }
}

void main() {
    prepare();
    const int f = 4 * fours * (group_number() * 64 + int(gl_LocalInvocationID.x));
    if (f >= p[1]) return;
    const int height = p[3], width = p[4], channels = p[5], out_height = p[6], out_width = p[7];
    [[unroll]] for (int i = 0; i < (vectors ? 1 : 4); ++i) {
        if (f + i >= p[1]) break;
        int pixel = (f + i) / channels;
        const int c = f + i - pixel * channels;
        const int row = pixel / out_width;
        const Place x = place_of(pixel - row * out_width, width, p[11], p[12], p[13]);
        const int image = row / out_height;
        const Place y = place_of(row - image * out_height, height, p[8], p[9], p[10]);
        const int first = p[2] + (image * height + y.first) * width * channels + c;
        const int second = p[2] + (image * height + y.second) * width * channels + c;
        const int corner[4] = {first + x.first * channels, first + x.second * channels,
                               second + x.first * channels, second + x.second * channels};
        for (int k = 0; k < (vectors ? fours : 1); ++k) {
            resize_four(corner, y, x, 4 * k, i);
            if (vectors) run(f + 4 * k);
        }
    }
    if (!vectors) run(f);
}
