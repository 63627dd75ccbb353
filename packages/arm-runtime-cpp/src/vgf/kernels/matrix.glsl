// A convolution as a matrix product on matrix units (VK_KHR_cooperative_matrix): a workgroup computes `rows` by `columns`
// matrices of SIDE pixels by SIDE filters. Its `split` subgroups share the sum over K, and add their parts in shared memory.
#include "matrix_common.glsl"
layout(local_size_x_id = 20) in;  // `split` subgroups

layout(constant_id = 21) const int split = 8;
layout(constant_id = 22) const int rows = 1;
layout(constant_id = 25) const int columns = 1;
layout(constant_id = 26) const int pointwise = 0;  // 1: rows of A lie one after the other
layout(constant_id = 28) const int chunk = 2;      // steps that a subgroup reads at once

// A thread reads pieces of 16 bytes of A: `across` of them are a row of a chunk, and the subgroup reads `down` rows at once.
const int across = chunk * step_pieces;
const int down = subgroup / across;
const int own_rows = (SIDE * rows + down - 1) / down;  // of a thread
const int stride = across + 1;                         // of rows in shared memory: they lie in different banks
const int row_quads = SIDE / 4 * columns;              // fours of a row of a tile's sums
const int quads = SIDE * rows * row_quads;
const int room = quads > SIDE * rows * stride ? quads : SIDE * rows * stride;

// Of each subgroup: rows of A, later its sums.
shared uvec4 pool[split * room];

/// The tile of this workgroup.
struct Tile {
    int m0;  // its first pixel
    int n0;  // its first matrix of filters
};

Tile tile_of_workgroup() {
    const int number = group_number(), side_by_side = p[23];
    return Tile(number / side_by_side * SIDE * rows, number % side_by_side * columns);
}

int own_pool() { return int(gl_SubgroupID) * room; }
/// The piece of a chunk that this thread reads, and the `i`th row of the tile that it reads it of.
int own_piece() { return int(gl_SubgroupInvocationID) % across; }
int own_row(int i) { return int(gl_SubgroupInvocationID) / across + i * down; }

// Of this thread's rows: the pixel, or the first of its image; and where its window begins.
int base[own_rows], top[own_rows], left[own_rows];
uvec4 pieces[own_rows];

void find_rows(const in Tile tile) {
    const int m_count = p[5], out_height = p[12], out_width = p[13];
    [[unroll]] for (int i = 0; i < own_rows; ++i) {
        const int m = min(tile.m0 + own_row(i), m_count - 1);
        if (pointwise == 1) {
            base[i] = m;
        } else {
            const int x = m % out_width, y = m / out_width % out_height, image = m / out_width / out_height;
            top[i] = y * p[14] - p[16];
            left[i] = x * p[15] - p[17];
            base[i] = image * p[10] * p[11];
        }
    }
}

/// The unit `within` of a pixel.
uvec4 fetch_pixel(int pixel, int within) {
    if (parts_of_a == 1) return fetch(a_buffer, p[2] + pixel * p[7] + within);
    // Chosen without a branch, where it can be: the choice is the same for all rows.
    const bool second = within >= p[25];
    const int at = (second ? p[26] - p[25] : p[2]) + pixel * (second ? p[7] - p[25] : p[25]) + within;
    if (a_buffer == second_buffer) return fetch(a_buffer, at);
    return second ? fetch(second_buffer, at) : fetch(a_buffer, at);
}

/// The unit `within` of a tap that lies at (dy, dx), for the `i`th row of this thread.
uvec4 fetch_in_window(int i, int within, int dy, int dx) {
    const int height = p[10], width = p[11];
    const int y = top[i] + dy, x = left[i] + dx;
    const bool inside = y >= 0 && y < height && x >= 0 && x < width;
    // Read in any case, so that no read waits for a branch.
    const int pixel = clamp(y, 0, height - 1) * width + clamp(x, 0, width - 1);
    const uvec4 w = fetch_pixel(base[i] + pixel, within);
    return inside ? w : uvec4(uint(p[20]));
}

/// Puts words that were read together into a piece.
void place(int i, int part, const in uvec4 w) {
    if (vector == 4) pieces[i] = w;
    if (vector == 2) {
        pieces[i][2 * part] = w.x;
        pieces[i][2 * part + 1] = w.y;
    }
    if (vector == 1) pieces[i][part] = w.x;
}

/// Reads the piece `k` of every row of this thread.
void fetch_pieces(int k) {
    const int per_tap = p[7], count = per_tap * p[8], kernel_width = p[9];
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
            place(i, part, pointwise == 1 ? fetch_pixel(base[i], unit) : fetch_in_window(i, within, dy, dx));
        }
    }
}

SUM_MATRIX sums[rows * columns];
B_MATRIX b[chunk * columns];

void clear_sums() {
    [[unroll]] for (int i = 0; i < rows * columns; ++i) sums[i] = SUM_MATRIX(SUM(0));
}

/// Reads the matrices of B of a chunk, whose first step is `step`.
void fetch_b(const in Tile tile, int step) {
    const int b_at = p[3], in_a_step = p[22];
    [[unroll]] for (int c = 0; c < chunk; ++c) {
        [[unroll]] for (int n = 0; n < columns; ++n) {
            const int at = b_at + ((step + c) * in_a_step + tile.n0 + n) * SIDE * step_pieces;
            coopMatLoad(b[c * columns + n], constants4, at, step_pieces, gl_CooperativeMatrixLayoutColumnMajor);
        }
    }
}

/// Leaves the pieces of this thread where the subgroup reads matrices of A.
void share_pieces() {
    meet();
    [[unroll]] for (int i = 0; i < own_rows; ++i) {
        const int row = own_row(i);
        if (row < SIDE * rows) pool[own_pool() + row * stride + own_piece()] = pieces[i];
    }
    meet();
}

void multiply() {
    [[unroll]] for (int c = 0; c < chunk; ++c) {
        [[unroll]] for (int m = 0; m < rows; ++m) {
            A_MATRIX a;
            coopMatLoad(a, pool, own_pool() + m * SIDE * stride + c * step_pieces, stride,
                        gl_CooperativeMatrixLayoutRowMajor);
            [[unroll]] for (int n = 0; n < columns; ++n) {
                sums[m * columns + n] = coopMatMulAdd(a, b[c * columns + n], sums[m * columns + n]);
            }
        }
    }
}

/// Adds up every chunk along K whose turn is this subgroup's, and reads the next one meanwhile.
void add_up(const in Tile tile) {
    const int steps = p[21], turn = split * chunk;  // `steps` is a multiple of `chunk`
    const int first = int(gl_SubgroupID) * chunk;
    if (first < steps) fetch_pieces(first * step_pieces + own_piece());
    for (int step = first; step < steps; step += turn) {
        fetch_b(tile, step);
        share_pieces();
        if (step + turn < steps) fetch_pieces((step + turn) * step_pieces + own_piece());
        multiply();
    }
}

void share_sums() {
    meet();
    [[unroll]] for (int m = 0; m < rows; ++m) {
        [[unroll]] for (int n = 0; n < columns; ++n) {
            coopMatStore(sums[m * columns + n], pool, own_pool() + m * SIDE * row_quads + SIDE / 4 * n, row_quads,
                         gl_CooperativeMatrixLayoutRowMajor);
        }
    }
    barrier();
}

/// Four sums of the tile, of all subgroups.
uvec4 added_parts(int quad) {
    uvec4 sum = pool[quad];
    for (int other = 1; other < split; ++other) sum = ADDED(sum, pool[other * room + quad]);
    return sum;
}

void main() {
    prepare();
    const int bias_at = p[4], m_count = p[5], n4_count = p[6];
    const Tile tile = tile_of_workgroup();
    if (tile.m0 >= m_count) return;
    find_rows(tile);
    clear_sums();
    add_up(tile);
    share_sums();
    for (int quad = int(gl_LocalInvocationID.x); quad < quads; quad += int(gl_WorkGroupSize.x)) {
        const int m = tile.m0 + quad / row_quads, n4 = SIDE / 4 * tile.n0 + quad % row_quads;
        if (m >= m_count || n4 >= n4_count) continue;
        r[0] = ivec4(ADDED(added_parts(quad), constants4[bias_at + n4]));
        run(4 * (m * n4_count + n4));
    }
}
