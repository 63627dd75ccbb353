#include "matrix_gemm.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "candidates.hpp"
#include "elementwise.hpp"

namespace arm_runtime::vgf {
namespace {

// Constants of kernels/matrix.glsl that kernels/gemm.comp does not have.
constexpr uint32_t kThreadsId = 20;
constexpr uint32_t kSplitId = 21;
constexpr uint32_t kRowsId = 22;
constexpr uint32_t kColumnsId = 25;
constexpr uint32_t kSubgroupId = 27;
constexpr uint32_t kChunkId = 28;
constexpr uint32_t kStepId = 29;

constexpr int64_t kSide = 16;  // of a matrix of sums
// Matrices of filters, that weights are padded to for every tile: so most tiles have the same
// bytes.
constexpr int64_t kPaddedColumns = 2;

/// What a workgroup computes.
struct Tile {
    uint32_t rows;     ///< matrices of 16 pixels
    uint32_t columns;  ///< matrices of 16 filters
    uint32_t split;    ///< subgroups that share a sum
    uint32_t chunk;    ///< steps along K that a subgroup reads at once: 1, 2 or 4
};

constexpr Tile kNoMatrices{0, 0, 0, 0};  // kernels/gemm.comp
// Variants behind the first, which is planned_tile, in the order in which they are tried. All fit
// the 16 KiB of shared memory that every device has.
constexpr Tile kTiles[] = {{2, 1, 8, 1}, {1, 1, 16, 1}, kNoMatrices,
                           {1, 2, 8, 1}, {2, 2, 4, 1},  {1, 1, 4, 4}};

int64_t quotient(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Bytes along K in a step; 0: the product is not for matrix units.
int64_t step_of(const DeviceTraits& device, const MatrixProduct& product) {
    if (product.m < kSide || product.n < kSide) return 0;
    if (product.type == ElementType::kInt8) return device.matrix.int8;
    return product.type == ElementType::kFloat16 ? device.matrix.fp16 : 0;
}

/// The fastest on an H100 for most products: a workgroup for each matrix of sums, until these are
/// more than keep the device busy.
Tile planned_tile(const DeviceTraits& device, const MatrixProduct& product, int64_t steps) {
    const int64_t matrices = quotient(product.m, kSide) * quotient(product.n, kSide);
    const int64_t threads = matrices * device.matrix.subgroup;
    if (steps < 4) return {1, 1, 16, 1};
    if (steps >= 6 && threads >= 3 * device.threads) return {2, 2, 4, 2};
    if (steps >= 6 && 4 * threads >= 3 * device.threads) return {1, 2, 4, 4};
    return {1, 1, 8, 2};
}

/// The same, with no more than there is to do, and than a workgroup may have.
Tile limited(Tile tile, const DeviceTraits& device, const MatrixProduct& product, int64_t steps) {
    const auto least = [](uint32_t a, int64_t b) {
        return static_cast<uint32_t>(std::min<int64_t>(a, b));
    };
    tile.rows = least(tile.rows, quotient(product.m, kSide));
    tile.columns = least(tile.columns, quotient(product.n, kSide));
    while (tile.chunk > 1 && tile.chunk / 2 >= steps) tile.chunk /= 2;
    tile.split = least(tile.split, quotient(steps, tile.chunk));
    tile.split = least(tile.split, device.max_threads / device.matrix.subgroup);
    return tile;
}

/// [filters, K] as [step, filter, K in a step], padded with zeros.
std::vector<uint8_t> packed_weights(const Tensor& weights, size_t step, size_t steps,
                                    size_t padded) {
    const auto filters = static_cast<size_t>(weights.shape[0]);
    const size_t row = weights.data.size() / filters;
    std::vector<uint8_t> out(steps * padded * step);
    for (size_t n = 0; n < filters; ++n) {
        for (size_t at = 0; at < row; at += step) {
            std::memcpy(&out[(at / step * padded + n) * step], &weights.data[n * row + at],
                        std::min(step, row - at));
        }
    }
    return out;
}

}  // namespace

bool set_matrix_gemm(Planner& planner, Group& group, const MatrixProduct& product,
                     const Tensor& weights) {
    const DeviceTraits& device = planner.device();
    const int64_t step = step_of(device, product);
    if (step == 0) return false;
    const char* const other = group.kernel;
    group.kernel = product.type == ElementType::kInt8 ? "matrix_int8" : "matrix_fp16";
    // Sums of floats depend on the tile: they have one, whatever a search finds.
    const size_t variants = is_float(product.type) ? 1 : 1 + std::size(kTiles);
    const size_t chosen =
        choose_variant(group, device, variants, {product.m, product.n, product.k_bytes});
    int64_t steps = quotient(product.k_bytes, step);
    Tile tile = chosen == 0 ? planned_tile(device, product, steps) : kTiles[chosen - 1];
    if (tile.rows == 0) {
        group.kernel = other;
        return false;
    }
    tile = limited(tile, device, product, steps);
    steps = quotient(steps, tile.chunk) * tile.chunk;
    group.tested_type = "";  // the kernel's name has the type
    const uint32_t constants[][2] = {{kThreadsId, tile.split * device.matrix.subgroup},
                                     {kSplitId, tile.split},
                                     {kRowsId, tile.rows},
                                     {kColumnsId, tile.columns},
                                     {kSubgroupId, device.matrix.subgroup},
                                     {kChunkId, tile.chunk},
                                     {kStepId, static_cast<uint32_t>(step)}};
    for (const auto& [id, value] : constants) group.specialization.emplace_back(id, value);
    const int64_t columns = quotient(product.n, kSide * kPaddedColumns) * kPaddedColumns;
    const int64_t tiles = quotient(product.n, kSide * tile.columns);
    const auto packed =
        packed_weights(weights, static_cast<size_t>(step), static_cast<size_t>(steps),
                       static_cast<size_t>(columns * kSide));
    group.push[3] =
        int_of(static_cast<int64_t>(planner.add_constant(packed.data(), packed.size()) / 16));
    group.push[5] = int_of(product.m);
    group.push[6] = int_of(quotient(product.n, 4));
    group.push[21] = int_of(steps);
    group.push[22] = int_of(columns);
    group.push[23] = int_of(tiles);
    group.workgroups = static_cast<uint64_t>(quotient(product.m, kSide * tile.rows) * tiles);
    return true;
}

}  // namespace arm_runtime::vgf
