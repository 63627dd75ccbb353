#version 460
#extension GL_GOOGLE_include_directive : require
// A Fourier transform along one axis: [outer, n, inner] to the first `frequencies` ones, [outer, frequencies, inner].
// Four elements of the result, whose real parts go to register 0 and the imaginary ones to register 1.
#include "memory.glsl"
#include "program.glsl"
layout(local_size_x = 64) in;

layout(constant_id = 20) const bool real = false;  // the input has no imaginary part
layout(constant_id = 21) const bool inverse = false;
layout(constant_id = 24) const int real_buffer = 0;
layout(constant_id = 25) const int imaginary_buffer = 0;

void main() {
    prepare();
    const int f = 4 * (group_number() * 64 + int(gl_LocalInvocationID.x));
    if (f >= p[1]) return;
    const int n = p[5], inner = p[6], frequencies = p[7];
    [[unroll]] for (int i = 0; i < 4; ++i) {
        if (f + i >= p[1]) break;
        int at = f + i;
        const int column = at % inner;
        at /= inner;
        const int frequency = at % frequencies, first = at / frequencies * n * inner + column;
        float sum_real = 0.0, sum_imaginary = 0.0;
        int turn = 0;  // j * frequency, modulo n
        for (int j = 0; j < n; ++j) {
            // Of the angle, cosine and sine.
            const float c = uintBitsToFloat(constants[p[4] + 2 * turn]);
            const float s = uintBitsToFloat(constants[p[4] + 2 * turn + 1]) * (inverse ? -1.0 : 1.0);
            const float a = uintBitsToFloat(word(real_buffer, p[2] + first + j * inner));
            const float b = real ? 0.0 : uintBitsToFloat(word(imaginary_buffer, p[3] + first + j * inner));
            sum_real += a * c + b * s;
            sum_imaginary += b * c - a * s;
            turn += frequency;
            if (turn >= n) turn -= n;
        }
        r[0][i] = floatBitsToInt(sum_real);
        r[1][i] = floatBitsToInt(sum_imaginary);
    }
    run(f);
}
