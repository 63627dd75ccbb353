#version 460
#extension GL_GOOGLE_include_directive : require
// RESIZE: a workgroup makes a part of a row of the result, a thread four channels of `fours` pixels; of channels that are
// no fours, four elements wherever they are. Bilinear weights of integers are not divided by their sum; of int16 the
// result is int48.
#include "memory.glsl"
#include "program.glsl"
layout(local_size_x = 64) in;

layout(constant_id = 20) const int type = TYPE_INT8;
layout(constant_id = 21) const bool bilinear = false;
layout(constant_id = 22) const int quads = 0;  // of channels; 0: they are no multiple of four
layout(constant_id = 23) const int fours = 1;
layout(constant_id = 24) const int input_buffer = 0;
layout(constant_id = 25) const int n_y = 1;  // the scale's numerators
layout(constant_id = 26) const int n_x = 1;

const bool floats = type >= TYPE_FLOAT16;
const bool vectors = quads != 0;

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

/// Four elements of a pixel, from the channel `c` on, or the `lane`th of them alone.
void resize_four(int image, const in Place y, const in Place x, int c, int lane) {
    const int height = p[3], width = p[4], channels = p[5];
    const int first = p[2] + (image * height + y.first) * width * channels + c;
    const int second = p[2] + (image * height + y.second) * width * channels + c;
    const int corner[4] = {first + x.first * channels, first + x.second * channels,
                           second + x.first * channels, second + x.second * channels};
    ivec4 low = ivec4(0), high = ivec4(0);
    if (!bilinear) {
        low = at(corner[(2 * y.part >= n_y ? 2 : 0) + (2 * x.part >= n_x ? 1 : 0)]);
    } else if (floats) {
        const float dy = float(y.part) / float(n_y), dx = float(x.part) / float(n_x);
        const vec4 upper = mix(intBitsToFloat(at(corner[0])), intBitsToFloat(at(corner[1])), dx);
        const vec4 lower = mix(intBitsToFloat(at(corner[2])), intBitsToFloat(at(corner[3])), dx);
        low = floatBitsToInt(mix(upper, lower, dy));
    } else {
        add(low, high, at(corner[0]), (n_y - y.part) * (n_x - x.part));
        add(low, high, at(corner[1]), (n_y - y.part) * x.part);
        add(low, high, at(corner[2]), y.part * (n_x - x.part));
        add(low, high, at(corner[3]), y.part * x.part);
    }
    if (vectors) {
        r[0] = low;
        r[1] = high;
    } else {
        r[0][lane] = low.x;
        r[1][lane] = high.x;
    }
}

Place column_of(int at) { return place_of(at, p[4], n_x, p[11], p[12]); }
Place row_of(int at) { return place_of(at, p[3], n_y, p[8], p[9]); }

void resize_row() {
    const int out_height = p[6], of_row = p[7] * quads, parts = p[10];
    const int number = group_number(), row = number / parts, image = row / out_height;
    if (image >= p[13]) return;
    const Place y = row_of(row - image * out_height);
    int quad = (number - row * parts) * 64 * fours + int(gl_LocalInvocationID.x);
    for (int i = 0; i < fours && quad < of_row; ++i, quad += 64) {
        const int pixel = quad / max(quads, 1);
        resize_four(image, y, column_of(pixel), 4 * (quad - pixel * quads), 0);
        run(4 * (row * of_row + quad));
    }
}

void resize_any() {
    const int f = 4 * (group_number() * 64 + int(gl_LocalInvocationID.x));
    if (f >= p[1]) return;
    const int channels = p[5], out_height = p[6], out_width = p[7];
    [[unroll]] for (int i = 0; i < 4; ++i) {
        if (f + i >= p[1]) break;
        const int pixel = (f + i) / channels, row = pixel / out_width, image = row / out_height;
        resize_four(image, row_of(row - image * out_height), column_of(pixel - row * out_width), f + i - pixel * channels, i);
    }
    run(f);
}

void main() {
    prepare();
    if (vectors) {
        resize_row();
    } else {
        resize_any();
    }
}
