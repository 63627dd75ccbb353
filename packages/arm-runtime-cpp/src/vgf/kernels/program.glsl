// A fused program: elementwise operators on four elements at once. Each is a function `step_NAME` here; which of them a
// program calls, and on what, the planner writes into the body of `run` (plan/program_writer.cpp), and drops the others.
// The kernel leaves its result in r[0] (r[1]: the high words of int48) before it calls `run`.

ivec4 r[2];

/// A step: constants that it is compiled with, numbers, up to three operands, and the first element's place.
#define STEP(name)                                                                                            \
    ivec4 step_##name(const in uint mode, const in ivec4 n, const in ivec4 a, const in ivec4 b, const in ivec4 c, \
                      const in int f)

/// The numbers of steps, which `prepare` reads before the kernel's own work, so that `run` does not wait for them.
ivec4 prepared[MAX_STEPS];
ivec4 numbers(const in int step_number) { return prepared[step_number]; }
int read_numbers(const in int step_number) {
    prepared[step_number] = ivec4(constants4[p[0] + step_number]);
    return 0;
}

STEP(raw) { return r[0]; }
STEP(raw_high) { return r[1]; }

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

STEP(load) {
    const int type = int(mode & 7u), access = int(mode >> 3 & 3u), buf = int(mode >> 5 & 3u);
    if (access == ACCESS_FLAT) return elements(buf, type, n.x + f);
    if (access == ACCESS_SCALAR) return ivec4(element(buf, type, n.x));
    if (access == ACCESS_CHANNEL) {
        const int channel = f % n.y;
        if ((n.y & 3) == 0) return elements(buf, type, n.x + channel);
        return ivec4(element(buf, type, n.x + channel), element(buf, type, n.x + (f + 1) % n.y),
                     element(buf, type, n.x + (f + 2) % n.y), element(buf, type, n.x + (f + 3) % n.y));
    }
    ivec4 v;
    [[unroll]] for (int i = 0; i < 4; ++i) v[i] = element(buf, type, n.x + strided(n.z, f + i));
    return v;
}

/// The high words of int48, read flat.
STEP(load_high) {
    const int i = 2 * (n.x + f) + 1, buf = int(mode >> 5 & 3u);
    return ivec4(word(buf, i), word(buf, i + 2), word(buf, i + 4), word(buf, i + 6));
}

STEP(store) {
#ifdef ROWS
    if (!has_elements) return a;
#endif
    store(int(mode >> 5 & 3u), int(mode & 7u), n.x + f, a, b);
    return a;
}

STEP(select) { return mix(c, b, notEqual(a, ivec4(0))); }

#include "integers.glsl"
#include "floats.glsl"

/// Calls read_numbers for every step that has some; to be called first.
void prepare() {}

/// Runs the program on the four elements from `f` on.
void run(const in int f) {}
