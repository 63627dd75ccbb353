// A convolution as a matrix product on matrix units (VK_KHR_cooperative_matrix): a workgroup computes `rows` by `columns`
// matrices of 16 pixels by 16 filters. Its `split` subgroups share the sum over K, and add their parts in shared memory.
// The bytes of a matrix of A or B are 16 rows (columns of B) of `k_bytes` along K: a step.
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#include "memory.glsl"
#include "program.glsl"
layout(local_size_x_id = 20) in;  // `split` subgroups

layout(constant_id = 21) const int split = 8;
layout(constant_id = 22) const int rows = 1;
layout(constant_id = 23) const int vector = 4;     // words of A that lie together: 1, 2 or 4
layout(constant_id = 24) const int a_buffer = 0;
layout(constant_id = 25) const int columns = 1;
layout(constant_id = 26) const int pointwise = 0;  // 1: rows of A lie one after the other
layout(constant_id = 27) const int subgroup = 32;  // threads
layout(constant_id = 28) const int chunk = 2;      // steps that a subgroup reads at once
layout(constant_id = 29) const int k_bytes = 32;   // 16 or 32

const int k_elements = k_bytes / ELEMENT_BYTES;
#define A_MATRIX coopmat<ELEMENT, gl_ScopeSubgroup, 16, k_elements, gl_MatrixUseA>
#define B_MATRIX coopmat<ELEMENT, gl_ScopeSubgroup, k_elements, 16, gl_MatrixUseB>
#define SUM_MATRIX coopmat<SUM, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>

// A thread reads pieces of 16 bytes of A: `across` of them are a row of a chunk, and the subgroup reads `down` rows at once.
const int step_pieces = k_bytes / 16;
const int across = chunk * step_pieces;
const int down = subgroup / across;
const int own_rows = (16 * rows + down - 1) / down;  // of a thread
const int stride = across + 1;                       // of rows in shared memory: they lie in different banks
const int quads = 64 * rows * columns;               // fours of a tile's sums
const int room = quads > 16 * rows * stride ? quads : 16 * rows * stride;

// Of each subgroup: rows of A, later its sums.
shared uvec4 pool[split * room];

int base[own_rows], top[own_rows], left[own_rows];  // where the windows of this thread's rows begin
uvec4 pieces[own_rows];

uvec4 fetch(int at) {
    if (vector == 4) return words4(a_buffer, at);
    if (vector == 2) return uvec4(words2(a_buffer, at), 0u, 0u);
    return uvec4(word(a_buffer, at), 0u, 0u, 0u);
}

/// Reads the piece `k` of every row of this thread.
void fetch_pieces(int k) {
    const int per_tap = p[7], count = per_tap * p[8], kernel_width = p[9], height = p[10], width = p[11];
    [[unroll]] for (int i = 0; i < own_rows; ++i) pieces[i] = uvec4(0u);
    [[unroll]] for (int part = 0; part < 4 / vector; ++part) {
        const int unit = k * (4 / vector) + part;
        if (unit >= count) continue;
        int within = unit, dy = 0, dx = 0;
        if (pointwise == 0) {
            const int tap = unit / per_tap;
            within = unit - tap * per_tap;
            dy = tap / kernel_width * p[18];
            dx = tap % kernel_width * p[19];
        }
        [[unroll]] for (int i = 0; i < own_rows; ++i) {
            uvec4 w;
            if (pointwise == 1) {
                w = fetch(base[i] + unit);
            } else {
                const int y = top[i] + dy, x = left[i] + dx;
                const bool inside = y >= 0 && y < height && x >= 0 && x < width;
                // Read in any case, so that no read waits for a branch.
                const int pixel = clamp(y, 0, height - 1) * width + clamp(x, 0, width - 1);
                w = fetch(base[i] + pixel * per_tap + within);
                if (!inside) w = uvec4(uint(p[20]));
            }
            if (vector == 4) pieces[i] = w;
            if (vector == 2) {
                pieces[i][2 * part] = w.x;
                pieces[i][2 * part + 1] = w.y;
            }
            if (vector == 1) pieces[i][part] = w.x;
        }
    }
}

/// Waits until all threads of the subgroup have read and written shared memory.
void meet() {
    controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
}

void main() {
    prepare();
    const int a_at = p[2], b_at = p[3], bias_at = p[4], m_count = p[5], n4_count = p[6];
    const int out_height = p[12], out_width = p[13];
    const int steps = p[21];      // a multiple of `chunk`
    const int b_columns = p[22];  // matrices in a step of B
    const int tiles = p[23];      // side by side
    const int part = int(gl_SubgroupID), lane = int(gl_SubgroupInvocationID);
    const int number = group_number();
    const int m0 = number / tiles * 16 * rows, n0 = number % tiles * columns;
    if (m0 >= m_count) return;
    const int own = part * room;
    [[unroll]] for (int i = 0; i < own_rows; ++i) {
        const int m = min(m0 + lane / across + i * down, m_count - 1);
        if (pointwise == 1) {
            base[i] = a_at + m * p[7];
        } else {
            const int x = m % out_width, y = m / out_width % out_height, image = m / out_width / out_height;
            top[i] = y * p[14] - p[16];
            left[i] = x * p[15] - p[17];
            base[i] = a_at + image * p[10] * p[11] * p[7];
        }
    }
    SUM_MATRIX sums[rows * columns];
    [[unroll]] for (int i = 0; i < rows * columns; ++i) sums[i] = SUM_MATRIX(SUM(0));
    if (part * chunk < steps) fetch_pieces(part * across + lane % across);
    for (int step = part * chunk; step < steps; step += split * chunk) {
        B_MATRIX b[chunk * columns];
        [[unroll]] for (int c = 0; c < chunk; ++c) {
            [[unroll]] for (int n = 0; n < columns; ++n) {
                const int at = b_at + ((step + c) * b_columns + n0 + n) * 16 * step_pieces;
                coopMatLoad(b[c * columns + n], constants4, at, step_pieces, gl_CooperativeMatrixLayoutColumnMajor);
            }
        }
        meet();
        [[unroll]] for (int i = 0; i < own_rows; ++i) {
            const int row = lane / across + i * down;
            if (row < 16 * rows) pool[own + row * stride + lane % across] = pieces[i];
        }
        meet();
        if (step + split * chunk < steps) fetch_pieces((step + split * chunk) * step_pieces + lane % across);
        [[unroll]] for (int c = 0; c < chunk; ++c) {
            [[unroll]] for (int m = 0; m < rows; ++m) {
                A_MATRIX a;
                coopMatLoad(a, pool, own + m * 16 * stride + c * step_pieces, stride,
                            gl_CooperativeMatrixLayoutRowMajor);
                [[unroll]] for (int n = 0; n < columns; ++n) {
                    sums[m * columns + n] = coopMatMulAdd(a, b[c * columns + n], sums[m * columns + n]);
                }
            }
        }
    }
    meet();
    [[unroll]] for (int m = 0; m < rows; ++m) {
        [[unroll]] for (int n = 0; n < columns; ++n) {
            coopMatStore(sums[m * columns + n], pool, own + m * 64 * columns + 4 * n, 4 * columns,
                         gl_CooperativeMatrixLayoutRowMajor);
        }
    }
    barrier();
    for (int quad = int(gl_LocalInvocationID.x); quad < quads; quad += int(gl_WorkGroupSize.x)) {
        const int m = m0 + quad / (4 * columns), n4 = 4 * n0 + quad % (4 * columns);
        if (m >= m_count || n4 >= n4_count) continue;
        uvec4 sum = pool[quad];
        for (int other = 1; other < split; ++other) sum = ADDED(sum, pool[other * room + quad]);
        r[0] = ivec4(ADDED(sum, constants4[bias_at + n4]));
        run(4 * (m * n4_count + n4));
    }
}
