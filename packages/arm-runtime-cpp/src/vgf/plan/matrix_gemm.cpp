#include "matrix_gemm.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "../kernels/steps.h"
#include "candidates.hpp"
#include "elementwise.hpp"
#include "matrix_window.hpp"
#include "packed_weights.hpp"

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

constexpr int64_t kSide = MATRIX_SIDE;

/// What a workgroup computes.
struct Tile {
    uint32_t rows;     ///< matrices of pixels
    uint32_t columns;  ///< matrices of filters
    uint32_t split;    ///< subgroups that share a sum
    uint32_t chunk;    ///< steps along K that a subgroup reads at once: 1, 2 or 4
};

constexpr Tile kNoMatrices{0, 0, 0, 0};  // kernels/gemm.comp
// Variants behind planned_tile, in the order in which they are tried. All fit the 16 KiB of shared
// memory that every device has.
constexpr Tile kTiles[] = {{2, 1, 8, 1}, {1, 1, 16, 1}, kNoMatrices,
                           {1, 2, 8, 1}, {2, 2, 4, 1},  {1, 1, 4, 4}};

// What planned_tile chooses from, the fastest on an H100 for most products. From this table to
// kBusy: docs/notes/2026-11-25-vgf-cooperative-matrix.md, "By shape".
constexpr Tile kOfShortSums{1, 1, 16, 1};
constexpr Tile kOfFewMatrices{1, 1, 8, 2};
constexpr Tile kOfMoreMatrices{1, 2, 4, 4};
constexpr Tile kOfManyMatrices{2, 2, 4, 2};
constexpr Tile kPlanned[] = {kOfShortSums, kOfFewMatrices, kOfMoreMatrices, kOfManyMatrices};
constexpr int64_t kShortSum = 3;  // steps along K, at most: more subgroups share it
constexpr int64_t kLongSum =
    6;  // steps, at least, for which reading fewer bytes is worth a larger tile
// A subgroup for each matrix of sums takes all threads that keep the device busy so many times
// over: above, larger tiles are faster. In quarters.
constexpr int64_t kBusyWithTwoColumns = 3;
constexpr int64_t kBusyWithTwoRows = 12;

// Matrices of filters that weights are padded to for every tile, so that a search through tiles
// finds one copy of most weights. A tile reads all its columns.
constexpr int64_t kPaddedColumns = 2;

template <size_t kCount>
constexpr bool read_no_further_than_padded(const Tile (&tiles)[kCount]) {
    // NOLINTNEXTLINE(readability-use-anyofallof): std::all_of is not constexpr in C++17.
    for (const Tile& tile : tiles) {
        if (tile.columns != 0 && kPaddedColumns % tile.columns != 0) return false;
    }
    return true;
}
static_assert(read_no_further_than_padded(kTiles) && read_no_further_than_padded(kPlanned));

int64_t quotient(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The kernel of such a product; nullptr: there is none.
const char* kernel_of(ElementType type) {
    if (type == ElementType::kInt8) return "matrix_int8";
    return type == ElementType::kFloat16 ? "matrix_fp16" : nullptr;
}

/// Bytes along K in a step; 0: the product is not for matrix units.
int64_t step_of(const DeviceTraits& device, const MatrixProduct& product) {
    const char* const kernel = kernel_of(product.type);
    if (kernel == nullptr || product.m < kSide || product.n < kSide) return 0;
    if (device.wrong.count(label_of(kernel, false, "")) != 0) return 0;
    return product.type == ElementType::kInt8 ? device.matrix.int8 : device.matrix.fp16;
}

Tile planned_tile(const DeviceTraits& device, const MatrixProduct& product, int64_t steps) {
    const int64_t matrices = quotient(product.m, kSide) * quotient(product.n, kSide);
    const int64_t quarters = 4 * matrices * device.matrix.subgroup / device.threads;
    if (steps <= kShortSum) return kOfShortSums;
    if (steps >= kLongSum && quarters >= kBusyWithTwoRows) return kOfManyMatrices;
    if (steps >= kLongSum && quarters >= kBusyWithTwoColumns) return kOfMoreMatrices;
    return kOfFewMatrices;
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

/// One way to compute a product.
struct Way {
    Tile tile = kNoMatrices;
    std::optional<WindowTile> window;  ///< of a kernel for large pictures

    bool has_matrices() const { return window || tile.rows != kNoMatrices.rows; }
};

/// The planner's own choice, and what a search tries behind it, in its order. None: the product is
/// not for matrix units.
std::vector<Way> ways_of(const DeviceTraits& device, const MatrixProduct& product,
                         const Windows& windows) {
    std::vector<Way> ways;
    for (const WindowTile& tile : window_tiles(device, product, windows)) {
        ways.push_back({kNoMatrices, tile});
    }
    if (const int64_t step = step_of(device, product); step != 0) {
        ways.push_back({planned_tile(device, product, quotient(product.k_bytes, step)), {}});
        for (const Tile& tile : kTiles) ways.push_back({tile, {}});
    } else if (!ways.empty()) {
        ways.push_back({kNoMatrices, {}});
    }
    // Sums of floats depend on the way: they have one, whatever a search finds.
    if (is_float(product.type) && !ways.empty()) ways.resize(1);
    return ways;
}

/// The way that the device's traits name.
Way chosen_way(Group& group, const DeviceTraits& device, const MatrixProduct& product,
               const std::vector<Way>& ways) {
    const char* const kernel =
        ways[0].window ? window_kernel_of(product.type) : kernel_of(product.type);
    const size_t chosen =
        choose_variant(group, kernel, device, ways.size(), {product.m, product.n, product.k_bytes});
    const bool has_other = device.wrong.count(label_of(group.kernel, false, "")) == 0;
    if (ways.size() > 1 && has_other) group.variants.others[0] = group.kernel;
    const bool has_both = ways[0].window && step_of(device, product) != 0;
    if (ways.size() > 1 && has_both) group.variants.others[1] = kernel_of(product.type);
    return ways[chosen].has_matrices() || has_other ? ways[chosen] : ways[0];
}

}  // namespace

bool set_matrix_gemm(Planner& planner, Group& group, const MatrixProduct& product,
                     const Windows& windows, const Tensor& weights) {
    const DeviceTraits& device = planner.device();
    const std::vector<Way> ways = ways_of(device, product, windows);
    if (ways.empty()) return false;
    const Way way = chosen_way(group, device, product, ways);
    if (way.window) {
        set_matrix_window(planner, group, product, windows, *way.window, weights);
        return true;
    }
    const int64_t step = step_of(device, product);
    if (step == 0 || !way.has_matrices()) return false;
    int64_t steps = quotient(product.k_bytes, step);
    const Tile tile = limited(way.tile, device, product, steps);
    steps = quotient(steps, tile.chunk) * tile.chunk;
    group.kernel = kernel_of(product.type);
    group.tested_type = "";  // the kernel's name has the type
    group.full_subgroups = true;
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
        packed_weights(weights, {static_cast<size_t>(step), static_cast<size_t>(steps),
                                 static_cast<size_t>(columns * kSide)});
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
