// A convolution of a large picture on matrix units: a workgroup computes a tile of SIDE pixels across by `subgroups` * `rows`
// down, of `columns` matrices of SIDE filters. What the tile's windows reach of the picture lies in shared memory, some
// channels (a chunk of `pieces` times 16 bytes) at a time; a matrix of A is SIDE neighbours of that, wherever the tap is.
#include "matrix_common.glsl"
layout(local_size_x_id = 20) in;  // `subgroups` subgroups

layout(constant_id = 21) const int subgroups = 4;
layout(constant_id = 22) const int rows = 2;     // of the tile, of a subgroup
layout(constant_id = 25) const int columns = 1;
layout(constant_id = 35) const int pieces = 2;   // a multiple of step_pieces
layout(constant_id = 28) const int kernel_height = 3;
layout(constant_id = 32) const int kernel_width = 3;
layout(constant_id = 33) const int stride_y = 1;
layout(constant_id = 34) const int stride_x = 1;

const int threads = subgroups * subgroup;
const int tile_rows = subgroups * rows;
const int reach_y = (tile_rows - 1) * stride_y + kernel_height;  // pixels that the windows of a tile reach
const int reach_x = (SIDE - 1) * stride_x + kernel_width;
const int pitch = pieces + 1;  // of pixels in shared memory, an odd number of pieces: neighbours lie in different banks
const int count = reach_y * reach_x * pieces;
const int loads = (count + threads - 1) / threads;  // pieces that a thread reads of a chunk
const int row_quads = SIDE / 4 * columns;           // fours of a pixel's sums
const int sum_pitch = row_quads + 1;                // of pixels in shared memory: neighbours lie in different banks
const int own_quads = SIDE * row_quads;             // of a subgroup's row of pixels
const int of_sums = subgroups * SIDE * sum_pitch;
const int of_picture = reach_y * reach_x * pitch;

// The picture's chunk, later sums.
shared uvec4 pool[of_picture > of_sums ? of_picture : of_sums];

/// The tile of this workgroup.
struct Tile {
    int n0;  // its first matrix of filters
    int x, y;
    int image;
};

Tile tile_of_workgroup() {
    const int side_by_side = p[23], across = p[28], down = p[29];
    int number = group_number();
    const int n = number % side_by_side;
    number /= side_by_side;
    const int x = number % across;
    number /= across;
    return Tile(n * columns, x * SIDE, number % down * tile_rows, number / down);
}

uvec4 got[loads];

/// Reads this thread's pieces of a chunk.
void fetch_chunk(const in Tile tile, int chunk) {
    const int height = p[10], width = p[11], first_chunks = p[27];
    const bool second = parts_of_a == 2 && chunk >= first_chunks;
    const int at = second ? p[26] : p[2], per_pixel = second ? p[7] - p[25] : p[25];
    const int first = (second ? chunk - first_chunks : chunk) * pieces * (4 / vector);
    const int top = tile.y * stride_y - p[16], left = tile.x * stride_x - p[17], image = tile.image * height * width;
    [[unroll]] for (int i = 0; i < loads; ++i) {
        const int number = int(gl_LocalInvocationID.x) + i * threads;
        const int pixel = number / pieces, piece = number % pieces;
        const int y = top + pixel / reach_x, x = left + pixel % reach_x;
        const bool inside = y >= 0 && y < height && x >= 0 && x < width;
        // Read in any case, so that no read waits for a branch.
        const int from = at + (image + clamp(y, 0, height - 1) * width + clamp(x, 0, width - 1)) * per_pixel;
        got[i] = uvec4(0u);
        [[unroll]] for (int part = 0; part < 4 / vector; ++part) {
            const int unit = first + piece * (4 / vector) + part;
            const int where = from + min(unit, per_pixel - 1);
            uvec4 w = second ? fetch(second_buffer, where) : fetch(a_buffer, where);
            w = inside ? w : uvec4(uint(p[20]));
            if (unit >= per_pixel) continue;
            if (vector == 4) got[i] = w;
            if (vector == 2) {
                got[i][2 * part] = w.x;
                got[i][2 * part + 1] = w.y;
            }
            if (vector == 1) got[i][part] = w.x;
        }
    }
}

void share_chunk() {
    barrier();
    [[unroll]] for (int i = 0; i < loads; ++i) {
        const int number = int(gl_LocalInvocationID.x) + i * threads;
        if (number < count) pool[number / pieces * pitch + number % pieces] = got[i];
    }
    barrier();
}

SUM_MATRIX sums[rows * columns];

void clear_sums() {
    [[unroll]] for (int i = 0; i < rows * columns; ++i) sums[i] = SUM_MATRIX(SUM(0));
}

/// Adds up a chunk, of which the picture is in shared memory.
void multiply(const in Tile tile, int chunk) {
    const int b_at = p[3], in_a_step = p[22], first_row = int(gl_SubgroupID) * rows * stride_y;
    const int of_tap = pieces / step_pieces;
    int step = chunk * kernel_height * kernel_width * of_tap;
    [[unroll]] for (int dy = 0; dy < kernel_height; ++dy) {
        [[unroll]] for (int dx = 0; dx < kernel_width; ++dx) {
            [[unroll]] for (int c = 0; c < of_tap; ++c) {
                B_MATRIX b[columns];
                [[unroll]] for (int n = 0; n < columns; ++n) {
                    coopMatLoad(b[n], constants4, b_at + (step * in_a_step + tile.n0 + n) * SIDE * step_pieces, step_pieces,
                                gl_CooperativeMatrixLayoutColumnMajor);
                }
                [[unroll]] for (int m = 0; m < rows; ++m) {
                    A_MATRIX a;
                    const int pixel = (first_row + m * stride_y + dy) * reach_x + dx;
                    coopMatLoad(a, pool, pixel * pitch + c * step_pieces, stride_x * pitch,
                                gl_CooperativeMatrixLayoutRowMajor);
                    [[unroll]] for (int n = 0; n < columns; ++n) {
                        sums[m * columns + n] = coopMatMulAdd(a, b[n], sums[m * columns + n]);
                    }
                }
                ++step;
            }
        }
    }
}

/// Leaves the sums of a row of pixels where this subgroup reads them.
void share_sums(int row) {
    const int own = int(gl_SubgroupID) * SIDE * sum_pitch;
    meet();
    [[unroll]] for (int m = 0; m < rows; ++m) {
        if (m != row) continue;
        [[unroll]] for (int n = 0; n < columns; ++n) {
            coopMatStore(sums[m * columns + n], pool, own + SIDE / 4 * n, sum_pitch, gl_CooperativeMatrixLayoutRowMajor);
        }
    }
    meet();
}

void main() {
    prepare();
    const int bias_at = p[4], n4_count = p[6], out_height = p[12], out_width = p[13], chunks = p[21];
    const Tile tile = tile_of_workgroup();
    if (tile.image >= p[30]) return;
    clear_sums();
    fetch_chunk(tile, 0);
    for (int chunk = 0; chunk < chunks; ++chunk) {
        share_chunk();
        if (chunk + 1 < chunks) fetch_chunk(tile, chunk + 1);
        multiply(tile, chunk);
    }
    barrier();
    for (int row = 0; row < rows; ++row) {
        share_sums(row);
        const int y = tile.y + int(gl_SubgroupID) * rows + row;
        for (int quad = int(gl_SubgroupInvocationID); quad < own_quads; quad += subgroup) {
            const int pixel = quad / row_quads, own = quad % row_quads;
            const int x = tile.x + pixel, n4 = SIDE / 4 * tile.n0 + own;
            if (y >= out_height || x >= out_width || n4 >= n4_count) continue;
            const uvec4 sum = pool[(int(gl_SubgroupID) * SIDE + pixel) * sum_pitch + own];
            r[0] = ivec4(ADDED(sum, constants4[bias_at + n4]));
            run(4 * (((tile.image * out_height + y) * out_width + x) * n4_count + n4));
        }
    }
}
