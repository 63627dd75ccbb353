#version 460
#extension GL_GOOGLE_include_directive : require
// A convolution of float32 of a large picture: a workgroup computes a tile of WINDOW_WIDTH pixels across by `bands` * `rows`
// down, of `quads` fours of filters; a thread, `rows` pixels one below the other of one four. Four channels of what the
// tile's windows reach of the picture lie in shared memory at a time, with the weights that go with them. A thread reads each
// pixel of a column of its windows once for all taps of that column.
#include "memory.glsl"
#include "program.glsl"
layout(local_size_x_id = 20) in;  // WINDOW_WIDTH * quads * bands

layout(constant_id = 21) const int quads = 4;
layout(constant_id = 22) const int rows = 8;
layout(constant_id = 24) const int a_buffer = 0;
layout(constant_id = 25) const int bands = 1;
layout(constant_id = 28) const int kernel_height = 3;
layout(constant_id = 30) const int parts_of_a = 1;     // 2: the channels behind the first p[25] fours lie elsewhere
layout(constant_id = 31) const int second_buffer = 0;  // of the second part
layout(constant_id = 32) const int kernel_width = 3;
layout(constant_id = 33) const int stride_y = 1;
layout(constant_id = 34) const int stride_x = 1;

const int threads = WINDOW_WIDTH * quads * bands;
const int reach_y = (bands * rows - 1) * stride_y + kernel_height;  // pixels that the windows of a tile reach
const int reach_x = (WINDOW_WIDTH - 1) * stride_x + kernel_width;
const int own_reach = (rows - 1) * stride_y + kernel_height;  // down, of a thread
const int of_picture = reach_y * reach_x;
const int of_weights = kernel_height * kernel_width * 4 * quads;
const int picture_loads = (of_picture + threads - 1) / threads;
const int weight_loads = (of_weights + threads - 1) / threads;

// The picture and the weights behind it; later a sum of each thread.
shared vec4 pool[of_picture + of_weights > threads ? of_picture + of_weights : threads];

struct Tile {
    int n;  // its fours of filters, in numbers of `quads`
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
    return Tile(n, x * WINDOW_WIDTH, number % down * bands * rows, number / down);
}

vec4 pixels[picture_loads], weights[weight_loads];

/// Reads what this thread leaves of four channels in shared memory.
void fetch(const in Tile tile, int chunk) {
    const int height = p[10], width = p[11], chunks = p[21];
    const bool second = parts_of_a == 2 && chunk >= p[25];
    const int per_pixel = second ? p[7] - p[25] : p[25];
    const int at = (second ? p[26] - p[25] : p[2]) + chunk;
    const int top = tile.y * stride_y - p[16], left = tile.x * stride_x - p[17], image = tile.image * height * width;
    [[unroll]] for (int i = 0; i < picture_loads; ++i) {
        const int number = int(gl_LocalInvocationID.x) + i * threads;
        const int y = top + number / reach_x, x = left + number % reach_x;
        const bool inside = y >= 0 && y < height && x >= 0 && x < width;
        // Read in any case, so that no read waits for a branch.
        const int where = at + (image + clamp(y, 0, height - 1) * width + clamp(x, 0, width - 1)) * per_pixel;
        const uvec4 w = second ? words4(second_buffer, where) : words4(a_buffer, where);
        pixels[i] = inside ? uintBitsToFloat(w) : vec4(0);
    }
    const int first = p[3] + (tile.n * chunks + chunk) * of_weights;
    [[unroll]] for (int i = 0; i < weight_loads; ++i) {
        const int number = min(int(gl_LocalInvocationID.x) + i * threads, of_weights - 1);
        weights[i] = uintBitsToFloat(constants4[first + number]);
    }
}

void share() {
    barrier();
    [[unroll]] for (int i = 0; i < picture_loads; ++i) {
        const int number = int(gl_LocalInvocationID.x) + i * threads;
        if (number < of_picture) pool[number] = pixels[i];
    }
    [[unroll]] for (int i = 0; i < weight_loads; ++i) {
        const int number = int(gl_LocalInvocationID.x) + i * threads;
        if (number < of_weights) pool[of_picture + number] = weights[i];
    }
    barrier();
}

vec4 sums[rows];

/// Adds up four channels; `corner`: the first pixel that this thread's windows reach; `n`: its four of filters.
void multiply(int corner, int n) {
    [[unroll]] for (int dx = 0; dx < kernel_width; ++dx) {
        vec4 column[own_reach];
        [[unroll]] for (int y = 0; y < own_reach; ++y) column[y] = pool[corner + y * reach_x + dx];
        [[unroll]] for (int dy = 0; dy < kernel_height; ++dy) {
            const int at = of_picture + (dy * kernel_width + dx) * 4 * quads + n;
            [[unroll]] for (int channel = 0; channel < 4; ++channel) {
                const vec4 w = pool[at + channel * quads];
                [[unroll]] for (int row = 0; row < rows; ++row) sums[row] += column[row * stride_y + dy][channel] * w;
            }
        }
    }
}

void main() {
    prepare();
    const int bias_at = p[4], n4_count = p[6], out_height = p[12], out_width = p[13], chunks = p[21];
    const Tile tile = tile_of_workgroup();
    if (tile.image >= p[30]) return;
    const int lane = int(gl_LocalInvocationID.x) % WINDOW_WIDTH, other = int(gl_LocalInvocationID.x) / WINDOW_WIDTH;
    const int n = other % quads, first_row = other / quads * rows;
    const int corner = first_row * stride_y * reach_x + lane * stride_x;
    [[unroll]] for (int i = 0; i < rows; ++i) sums[i] = vec4(0);
    fetch(tile, 0);
    for (int chunk = 0; chunk < chunks; ++chunk) {
        share();
        if (chunk + 1 < chunks) fetch(tile, chunk + 1);
        multiply(corner, n);
    }
    barrier();
    const int own = int(gl_LocalInvocationID.x), x = tile.x + lane, n4 = tile.n * quads + n;
    for (int row = 0; row < rows; ++row) {
        // Each thread reads back what it wrote: a choice among registers while the program runs.
        [[unroll]] for (int i = 0; i < rows; ++i) {
            if (i == row) pool[own] = sums[i];
        }
        const int y = tile.y + first_row + row;
        if (y >= out_height || x >= out_width || n4 >= n4_count) continue;
        r[0] = floatBitsToInt(pool[own] + uintBitsToFloat(constants4[bias_at + n4]));
        run(4 * (((tile.image * out_height + y) * out_width + x) * n4_count + n4));
    }
}
