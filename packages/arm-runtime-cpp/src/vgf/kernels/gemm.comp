#version 460
#extension GL_GOOGLE_include_directive : require
// Matrix products and convolutions as such: a thread computes `rows` rows (pixels) of four columns (filters); `split`
// threads share the sum over K of one tile and add their parts in shared memory. The part of a thread fits 32 bits; sums of
// int16 by int8 (weights lie as int16) have 48 bits from there on. Of int16 by int16, a thread has two such parts: B is
// 256 times its upper half, which is an int8 or 128, and a lower one, which is an int8.
#include "memory.glsl"
#include "program.glsl"
layout(local_size_x = 64) in;

layout(constant_id = 20) const int type = TYPE_INT8;   // of A and B
layout(constant_id = 21) const int split = 1;          // 1, 2, 4, ... 64
layout(constant_id = 22) const int rows = 4;           // up to 8
layout(constant_id = 23) const int vector = 4;         // words that a thread reads of a row at once: 1, 2 or 4
layout(constant_id = 24) const int a_buffer = 0;
layout(constant_id = 25) const int b_buffer = 1;       // of `b_rows`; else B is packed in the constants
layout(constant_id = 26) const int pointwise = 0;      // 1: rows of A lie one after the other
layout(constant_id = 27) const int b_rows = 0;         // 1: B is [batch, K, columns], as MATMUL has it
layout(constant_id = 28) const int has_bias = 1;
layout(constant_id = 29) const int ragged = 0;         // 1, of int8 and `b_rows`: K is no multiple of four
layout(constant_id = 30) const int parts_of_a = 1;     // 2: the channels behind the first p[25] vectors lie elsewhere
layout(constant_id = 31) const int second_buffer = 0;  // of the second part

#ifdef DOT
#extension GL_EXT_spirv_intrinsics : require
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4450)
int dot_of_bytes(int a, int b, spirv_literal int format);
#define DOT4(a, b) dot_of_bytes(int(a), int(b), 0)
#else
int DOT4(uint a, uint b) {
    const ivec4 v = bytes_of(a) * bytes_of(b);
    return v.x + v.y + v.z + v.w;
}
#endif

// Sums are ints, or bits of floats where the type is one.
const bool floating = type >= TYPE_FLOAT16;
const int halves = type == TYPE_INT16 && b_rows == 1 ? 2 : 1;  // of B; rows are up to 4 where there are two
const int upper_rows = halves == 2 ? rows : 1;
shared ivec4 parts[64 * 8];

/// What a word of A and one of B add to a sum.
int product(int sum, uint a, uint b) {
    if (type == TYPE_INT8) return sum + DOT4(a, b);
    if (type == TYPE_INT16) {
        sum += bitfieldExtract(int(a), 0, 16) * bitfieldExtract(int(b), 0, 16);
        return sum + (int(a) >> 16) * (int(b) >> 16);
    }
    float f = intBitsToFloat(sum);
    if (type == TYPE_FLOAT32) {
        f += uintBitsToFloat(a) * uintBitsToFloat(b);
    } else if (type == TYPE_FLOAT16) {
        const vec2 x = unpackHalf2x16(a), y = unpackHalf2x16(b);
        f += x.x * y.x + x.y * y.y;
    } else {
        f += uintBitsToFloat(a << 16) * uintBitsToFloat(b << 16);
        f += uintBitsToFloat(a & 0xffff0000u) * uintBitsToFloat(b & 0xffff0000u);
    }
    return floatBitsToInt(f);
}

/// Adds to sums whose high words count of int16 only.
void add(inout ivec4 sum, inout ivec4 high, ivec4 other, ivec4 other_high) {
    if (floating) {
        sum = floatBitsToInt(intBitsToFloat(sum) + intBitsToFloat(other));
    } else if (type == TYPE_INT16) {
        add_wide(sum, high, other, other_high);
    } else {
        sum += other;
    }
}

/// Adds the upper half of the part at `at`, if there is one.
void add_upper(inout ivec4 sum, inout ivec4 high, int at) {
    if (halves == 2) add(sum, high, parts[at + 1] << 8, parts[at + 1] >> 24);
}

uvec4 fetch(int buf, int at) {
    if (vector == 4) return words4(buf, at);
    if (vector == 2) return uvec4(words2(buf, at), 0u, 0u);
    return uvec4(word(buf, at), 0u, 0u, 0u);
}

/// The four bytes from `byte` on, of which `count` are there.
uint ragged_word(int byte, int count) {
    const int shift = 8 * (byte & 3);
    uint w = word(a_buffer, byte >> 2) >> shift;
    if (shift != 0) w |= word(a_buffer, (byte >> 2) + 1) << (32 - shift);
    return count >= 4 ? w : count <= 0 ? 0u : w & ((1u << 8 * count) - 1u);
}

/// Four words of B's rows k to k + 3, of which `count` are there, transposed: the words of four columns.
uvec4 columns_of_bytes(int at, int stride, int count) {
    const uint a = count > 0 ? word(b_buffer, at) : 0u, b = count > 1 ? word(b_buffer, at + stride) : 0u;
    const uint c = count > 2 ? word(b_buffer, at + 2 * stride) : 0u, d = count > 3 ? word(b_buffer, at + 3 * stride) : 0u;
    const uint ab_low = (a & 0xffu) | (b & 0xffu) << 8 | (a & 0xff00u) << 8 | (b & 0xff00u) << 16;
    const uint ab_high = (a >> 16 & 0xffu) | (b >> 8 & 0xff00u) | (a >> 8 & 0xff0000u) | (b & 0xff000000u);
    const uint cd_low = (c & 0xffu) | (d & 0xffu) << 8 | (c & 0xff00u) << 8 | (d & 0xff00u) << 16;
    const uint cd_high = (c >> 16 & 0xffu) | (d >> 8 & 0xff00u) | (c >> 8 & 0xff0000u) | (d & 0xff000000u);
    return uvec4((ab_low & 0xffffu) | cd_low << 16, ab_low >> 16 | (cd_low & 0xffff0000u),
                 (ab_high & 0xffffu) | cd_high << 16, ab_high >> 16 | (cd_high & 0xffff0000u));
}

/// Words of two rows of B, of singles of 16 bits, transposed: the words of four columns.
uvec4 columns_of_shorts(int at, int stride) {
    const uvec2 a = words2(b_buffer, at), b = words2(b_buffer, at + stride);
    return uvec4((a.x & 0xffffu) | b.x << 16, a.x >> 16 | (b.x & 0xffff0000u),
                 (a.y & 0xffffu) | b.y << 16, a.y >> 16 | (b.y & 0xffff0000u));
}

/// The lower halves of two numbers of 16 bits, from -128 to 127.
uint lower_halves(uint w) {
    const int a = bitfieldExtract(int(w), 0, 8), b = bitfieldExtract(int(w), 16, 8);
    return uint(a & 0xffff) | uint(b) << 16;
}

/// The upper halves, from -128 to 128.
uint upper_halves(uint w) {
    const int a = (bitfieldExtract(int(w), 0, 16) + 128) >> 8, b = ((int(w) >> 16) + 128) >> 8;
    return uint(a & 0xffff) | uint(b) << 16;
}

/// The tile of this thread, which shares it with `split - 1` others.
struct Tile {
    bool on;    // false: there is none
    int slot;   // which of the workgroup's it is
    int lane;   // of this thread among those that share it
    int batch;
    int m0;     // its first row
    int n4;     // its columns, in fours
};

Tile tile_of_thread() {
    const int m_count = p[5], n4_count = p[6], batches = p[24];
    const int lane = int(gl_LocalInvocationID.x) % split, slot = int(gl_LocalInvocationID.x) / split;
    const int tiles = (m_count + rows - 1) / rows * n4_count;
    const int number = group_number() * (64 / split) + slot;
    const int batch = number / tiles, tile = number % tiles;
    return Tile(batch < batches, slot, lane, batch, tile / n4_count * rows, tile % n4_count);
}

// Of this thread: its part of the sums, and of the sums of A's rows and B's columns.
ivec4 sums[rows], uppers[upper_rows], b_sum;
int a_sums[rows];

void clear_sums() {
    b_sum = ivec4(0);
    [[unroll]] for (int i = 0; i < rows; ++i) sums[i] = ivec4(0);
    [[unroll]] for (int i = 0; i < rows; ++i) a_sums[i] = 0;
    [[unroll]] for (int i = 0; i < upper_rows; ++i) uppers[i] = ivec4(0);
}

// Of every row of A: its first word where it is ragged, else its pixel, or the first of its image; and where its window begins.
int base[rows], top[rows], left[rows];

void find_rows(const in Tile tile) {
    const int m_count = p[5], height = p[10], width = p[11];
    [[unroll]] for (int i = 0; i < rows; ++i) {
        const int m = min(tile.m0 + i, m_count - 1);
        if (pointwise == 1) {
            base[i] = tile.batch * m_count + m;
            if (ragged == 1) base[i] = p[2] + base[i] * p[21];
        } else {
            const int out_height = p[12], out_width = p[13];
            const int x = m % out_width, y = m / out_width % out_height, image = m / out_width / out_height;
            top[i] = y * p[14] - p[16];
            left[i] = x * p[15] - p[17];
            base[i] = image * height * width;
        }
    }
}

uvec4 b[4], b_uppers[4];  // a vector of each of four columns of B, and its upper halves

/// Reads the vector `k` of B's columns.
void fetch_b(const in Tile tile, int k) {
    const int b_at = p[3], n4_count = p[6], first = tile.batch * p[21];
    if (b_rows == 0) {
        [[unroll]] for (int c = 0; c < 4; ++c) b[c] = fetch(BUFFER_CONSTANTS, b_at + (k * n4_count + tile.n4) * 4 + c);
        return;
    }
    [[unroll]] for (int v = 0; v < vector; ++v) {
        const int word_of_a = k * vector + v;
        if (type == TYPE_INT8) {  // a word of A is four rows of B
            const int row = 4 * word_of_a;
            const uvec4 w = columns_of_bytes(b_at + (first + row) * n4_count + tile.n4, n4_count,
                                             ragged == 1 ? p[21] - row : 4);
            [[unroll]] for (int c = 0; c < 4; ++c) b[c][v] = w[c];
        } else if (type == TYPE_INT16) {  // two
            const uvec4 w = columns_of_shorts(b_at + (first + 2 * word_of_a) * n4_count + tile.n4, n4_count);
            [[unroll]] for (int c = 0; c < 4; ++c) {
                b[c][v] = lower_halves(w[c]);
                b_uppers[c][v] = upper_halves(w[c]);
            }
        } else {  // one, of singles
            const uvec4 w = words4(b_buffer, b_at + (first + word_of_a) * n4_count + tile.n4);
            [[unroll]] for (int c = 0; c < 4; ++c) b[c][v] = w[c];
        }
    }
}

/// The vector `within` of a pixel of A.
uvec4 fetch_pixel(int pixel, int within) {
    if (parts_of_a == 1) return fetch(a_buffer, p[2] + pixel * p[7] + within);
    // Chosen without a branch, where it can be: the choice is the same for all rows.
    const bool second = within >= p[25];
    const int at = (second ? p[26] - p[25] : p[2]) + pixel * (second ? p[7] - p[25] : p[25]) + within;
    if (a_buffer == second_buffer) return fetch(a_buffer, at);
    return second ? fetch(second_buffer, at) : fetch(a_buffer, at);
}

/// The vector `k` of a row of A, which is the vector `within` of a tap that lies at (dy, dx).
uvec4 fetch_a(int row, int k, int within, int dy, int dx) {
    if (ragged == 1) {
        uvec4 a = uvec4(0u);
        [[unroll]] for (int v = 0; v < vector; ++v) {
            const int byte = 4 * (k * vector + v);
            a[v] = ragged_word(base[row] + byte, p[21] - byte);
        }
        return a;
    }
    if (pointwise == 1) return fetch_pixel(base[row], k);
    const int height = p[10], width = p[11];
    const int y = top[row] + dy, x = left[row] + dx;
    const bool inside = y >= 0 && y < height && x >= 0 && x < width;
    // Read in any case, so that no read waits for a branch.
    const int pixel = clamp(y, 0, height - 1) * width + clamp(x, 0, width - 1);
    const uvec4 a = fetch_pixel(base[row] + pixel, within);
    return inside ? a : uvec4(uint(p[20]));
}

/// Adds to the sums of a row what its vector of A and those of B make.
void add_products(int row, const in uvec4 a) {
    [[unroll]] for (int v = 0; v < vector; ++v) {
        [[unroll]] for (int c = 0; c < 4; ++c) sums[row][c] = product(sums[row][c], a[v], b[c][v]);
        if (halves == 2) {
            [[unroll]] for (int c = 0; c < 4; ++c) uppers[row][c] = product(uppers[row][c], a[v], b_uppers[c][v]);
        }
        if (b_rows == 1 && type == TYPE_INT8 && p[23] != 0) a_sums[row] += DOT4(a[v], 0x01010101u);
    }
}

void sum_columns() {
    if (b_rows == 0 || type != TYPE_INT8 || p[22] == 0) return;
    [[unroll]] for (int v = 0; v < vector; ++v) {
        [[unroll]] for (int c = 0; c < 4; ++c) b_sum[c] += DOT4(b[c][v], 0x01010101u);
    }
}

/// Adds up every vector along K whose turn is this thread's.
void add_up(const in Tile tile) {
    const int per_tap = p[7], kernel_width = p[9], count = per_tap * p[8];
    int tap = tile.lane / per_tap, within = tile.lane % per_tap;
    for (int k = tile.lane; k < count; k += split) {
        fetch_b(tile, k);
        sum_columns();
        const int dy = tap / kernel_width * p[18], dx = tap % kernel_width * p[19];
        [[unroll]] for (int i = 0; i < rows; ++i) add_products(i, fetch_a(i, k, within, dy, dx));
        if (pointwise == 0) {
            within += split;
            while (within >= per_tap) {
                within -= per_tap;
                ++tap;
            }
        }
    }
}

/// Makes sums of a * b those of (a - za)(b - zb), of which the threads have their parts.
void subtract_zero_points(const in Tile tile) {
    if (b_rows == 0 || type != TYPE_INT8) return;
    const int share = tile.lane == 0 ? p[22] * p[23] * p[21] : 0;
    [[unroll]] for (int i = 0; i < rows; ++i) sums[i] += share - p[22] * b_sum - p[23] * a_sums[i];
}

/// Leaves the sums of this thread where those of its tile find them.
void share_parts() {
    const int own = int(gl_LocalInvocationID.x) * rows * halves;
    [[unroll]] for (int i = 0; i < rows; ++i) parts[own + halves * i] = sums[i];
    if (halves == 2) {
        [[unroll]] for (int i = 0; i < rows; ++i) parts[own + halves * i + 1] = uppers[i];
    }
    if (split > 1) barrier();
}

/// Adds up the parts of a row of the tile, with the bias, into `r`.
void finish_row(const in Tile tile, int row) {
    const int first = (tile.slot * split * rows + row) * halves;
    ivec4 sum = parts[first], high = sum >> 31;
    add_upper(sum, high, first);
    for (int other = 1; other < split; ++other) {
        const int at = first + other * rows * halves;
        add(sum, high, parts[at], parts[at] >> 31);
        add_upper(sum, high, at);
    }
    if (has_bias == 1) {
        const int bias_at = p[4], at = type == TYPE_INT16 ? bias_at + 2 * tile.n4 : bias_at + tile.n4;
        add(sum, high, ivec4(constants4[at]), type == TYPE_INT16 ? ivec4(constants4[at + 1]) : ivec4(0));
    }
    r[0] = sum;
    if (type == TYPE_INT16) r[1] = high;
}

void main() {
    prepare();
    const Tile tile = tile_of_thread();
    clear_sums();
    if (tile.on) {
        find_rows(tile);
        add_up(tile);
    }
    subtract_zero_points(tile);
    share_parts();
    if (!tile.on) return;
    const int m_count = p[5], n4_count = p[6];
    for (int i = tile.lane; i < rows; i += split) {
        const int m = tile.m0 + i;
        if (m >= m_count) break;
        finish_row(tile, i);
        run(4 * ((tile.batch * m_count + m) * n4_count + tile.n4));
    }
}
