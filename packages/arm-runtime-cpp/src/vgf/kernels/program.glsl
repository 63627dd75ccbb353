// A fused program: elementwise operators on registers of four elements each. The kernel before it leaves its result in
// register 0 (register 1: the high words of int48); steps are constants, so that a driver keeps only what they do.
#define S(i) layout(constant_id = i) const uint step_##i = 0u;
S(0) S(1) S(2) S(3) S(4) S(5) S(6) S(7) S(8) S(9) S(10) S(11) S(12) S(13) S(14) S(15) S(16) S(17) S(18) S(19)
#undef S

ivec4 r[ARM_VGF_REGISTERS];

bvec4 nan4(vec4 v) { return greaterThan(floatBitsToUint(v) & 0x7fffffffu, uvec4(0x7f800000u)); }

#include "integers.glsl"
#ifdef FLOATS
#include "floats.glsl"
#endif

/// The element that a strided operand has for the element `f`: its block holds the rank, then sizes and strides from the
/// innermost dimension on.
int strided(int block, int f) {
    const int rank = int(constants[block]);
    int at = 0;
    for (int d = 0; d < rank; ++d) {
        const int size = int(constants[block + 1 + 2 * d]);
        at += (f % size) * int(constants[block + 2 + 2 * d]);
        f /= size;
    }
    return at;
}

ivec4 load(uint mode, ivec4 n, int f) {
    const int type = int(mode & 7u), access = int(mode >> 3 & 3u), buf = int(mode >> 5 & 3u);
    if (access == ACCESS_FLAT) return elements(buf, type, n.x + f);
    if (access == ACCESS_SCALAR) return ivec4(element(buf, type, n.x));
    if (access == ACCESS_CHANNEL) {
        const int c = f % n.y;
        if ((n.y & 3) == 0) return elements(buf, type, n.x + c);
        return ivec4(element(buf, type, n.x + c), element(buf, type, n.x + (f + 1) % n.y),
                     element(buf, type, n.x + (f + 2) % n.y), element(buf, type, n.x + (f + 3) % n.y));
    }
    ivec4 v;
    [[unroll]] for (int i = 0; i < 4; ++i) v[i] = element(buf, type, n.x + strided(n.z, f + i));
    return v;
}

void step(uint s, int number, int f) {
    const uint code = s & 255u, mode = s >> 24;
    if (code == STEP_NOTHING) return;
    const ivec4 n = ivec4(constants4[p[0] + number]);
    const ivec4 a = r[s >> 12 & 15u], b = r[s >> 16 & 15u], c = r[s >> 20 & 15u];
    ivec4 out_ = a;
    if (code == STEP_LOAD) {
        out_ = load(mode, n, f);
        if ((mode & 7u) == TYPE_INT48) {
            const int i = 2 * (n.x + f) + 1, buf = int(mode >> 5 & 3u);
            r[(s >> 8 & 15u) + 1u] = ivec4(word(buf, i), word(buf, i + 2), word(buf, i + 4), word(buf, i + 6));
        }
    } else if (code == STEP_STORE) {
        store(int(mode >> 5 & 3u), int(mode & 7u), n.x + f, a, b);
        return;
    } else if (code == STEP_SELECT) {
        out_ = mix(c, b, notEqual(a, ivec4(0)));
#ifdef FLOATS
    } else if (code >= STEP_FADD) {
        out_ = float_step(code, mode, n, a, b);
#endif
    } else {
        out_ = integer_step(code, mode, n, a, b, f);
    }
    r[s >> 8 & 15u] = out_;
}

/// Runs the program on the four elements from `f` on.
void run(int f) {
#define S(i) step(step_##i, i, f);
    S(0) S(1) S(2) S(3) S(4) S(5) S(6) S(7)
#if ARM_VGF_STEPS > 8
    S(8) S(9) S(10) S(11) S(12) S(13) S(14) S(15) S(16) S(17) S(18) S(19)
#endif
#undef S
}
