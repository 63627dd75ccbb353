#include "matrix_window.hpp"

#include <algorithm>
#include <cstring>

#include "../kernels/steps.h"

namespace arm_runtime::vgf {
namespace {

// Constants of kernels/matrix_window.glsl.
constexpr uint32_t kThreadsId = 20;
constexpr uint32_t kSubgroupsId = 21;
constexpr uint32_t kRowsId = 22;
constexpr uint32_t kColumnsId = 25;
constexpr uint32_t kPiecesId = 35;
constexpr uint32_t kSubgroupId = 27;
constexpr uint32_t kKernelHeightId = 28;
constexpr uint32_t kStepId = 29;
constexpr uint32_t kKernelWidthId = 32;
constexpr uint32_t kStrideYId = 33;
constexpr uint32_t kStrideXId = 34;

constexpr int64_t kSide = MATRIX_SIDE;
constexpr int64_t kPiece = 16;  // bytes
constexpr int64_t kMostSubgroups = 4;
constexpr int64_t kMostColumns = 4;
constexpr int64_t kMostSums = 12;  // matrices of them that a subgroup has in registers
constexpr int64_t kRows[] = {4, 2, 1};
constexpr int64_t kSteps[] = {1, 2, 4};  // along K, of a chunk of a tap
constexpr int64_t kLeastFilters = 8;
constexpr int64_t kLeastPixels = 4096;

int64_t quotient(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Bytes along K in a step; 0: the device has no matrix units for the type.
int64_t step_of(const DeviceTraits& device, ElementType type) {
    const char* const kernel = window_kernel_of(type);
    if (kernel == nullptr || find_optional_kernel(kernel, false) == nullptr) return 0;
    if (device.wrong.count(label_of(kernel, false, "")) != 0) return 0;
    return type == ElementType::kInt8 ? device.matrix.int8 : device.matrix.fp16;
}

/// Matrices of filters of a workgroup: the most that are all needed.
int64_t columns_of(int64_t filters) {
    const int64_t matrices = quotient(filters, kSide);
    const int64_t groups = quotient(matrices, kMostColumns);
    return quotient(matrices, groups);
}

int64_t chunks_of(int64_t bytes, int64_t pieces) { return quotient(bytes, pieces * kPiece); }

int64_t chunks_of(const Windows& windows, int64_t pieces) {
    int64_t chunks = 0;
    for (const int64_t bytes : windows.parts) chunks += chunks_of(bytes, pieces);
    return chunks;
}

int64_t bytes_of_shared(const Windows& windows, const WindowTile& tile) {
    const int64_t down = int64_t{tile.subgroups} * tile.rows;
    const int64_t reach_y = (down - 1) * windows.stride[0] + windows.kernel[0];
    const int64_t reach_x = (kSide - 1) * windows.stride[1] + windows.kernel[1];
    const int64_t picture = reach_y * reach_x * (tile.pieces + 1);
    const int64_t sums = int64_t{tile.subgroups} * kSide * (kSide / 4 * tile.columns + 1);
    return std::max(picture, sums) * kPiece;
}

int64_t workgroups_of(const MatrixProduct& product, const Windows& windows,
                      const WindowTile& tile) {
    return windows.images * quotient(windows.result[0], int64_t{tile.subgroups} * tile.rows) *
           quotient(windows.result[1], kSide) * quotient(product.n, kSide * tile.columns);
}

/// What a step along K reads of a pixel: bytes of its parts, one after the other.
struct Reach {
    int64_t tap;
    int64_t first;
    int64_t bytes;  ///< as many as there are; zeros follow
};

/// The kernel's steps: of chunks, their taps, and of a chunk's tap.
std::vector<Reach> steps_of(const Windows& windows, int64_t pieces, int64_t step) {
    const int64_t taps = windows.kernel[0] * windows.kernel[1];
    const int64_t chunk = pieces * kPiece;
    std::vector<Reach> steps;
    int64_t begin = 0;
    for (const int64_t part : windows.parts) {
        for (int64_t i = 0; i < chunks_of(part, pieces) * taps * (chunk / step); ++i) {
            const int64_t at = i / (taps * (chunk / step)) * chunk + i % (chunk / step) * step;
            steps.push_back(
                {i / (chunk / step) % taps, begin + at, std::clamp<int64_t>(part - at, 0, step)});
        }
        begin += part;
    }
    return steps;
}

std::vector<uint8_t> weights_by_chunk(const Tensor& weights, const Windows& windows, int64_t pieces,
                                      int64_t step, int64_t filters) {
    const std::vector<Reach> steps = steps_of(windows, pieces, step);
    const auto row = static_cast<int64_t>(weights.data.size()) / weights.shape[0];
    const int64_t per_tap = row / (windows.kernel[0] * windows.kernel[1]);
    std::vector<uint8_t> out(steps.size() * static_cast<size_t>(filters * step));
    for (size_t i = 0; i < steps.size(); ++i) {
        const auto& [tap, first, bytes] = steps[i];
        for (int64_t n = 0; bytes != 0 && n < weights.shape[0]; ++n) {
            std::memcpy(&out[(i * static_cast<size_t>(filters) + static_cast<size_t>(n)) *
                             static_cast<size_t>(step)],
                        &weights.data[static_cast<size_t>(n * row + tap * per_tap + first)],
                        static_cast<size_t>(bytes));
        }
    }
    return out;
}

}  // namespace

const char* window_kernel_of(ElementType type) {
    if (type == ElementType::kInt8) return "matrix_window_int8";
    return type == ElementType::kFloat16 ? "matrix_window_fp16" : nullptr;
}

std::vector<WindowTile> window_tiles(const DeviceTraits& device, const MatrixProduct& product,
                                     const Windows& windows) {
    const int64_t step = step_of(device, product.type);
    const bool has_windows = windows.kernel[0] * windows.kernel[1] > 1;
    if (step == 0 || !has_windows || windows.dilation != std::array<int64_t, 2>{1, 1} ||
        product.n < kLeastFilters || product.m < kLeastPixels) {
        return {};
    }
    const int64_t subgroups = std::min(kMostSubgroups, device.max_threads / device.matrix.subgroup);
    const int64_t columns = columns_of(product.n);
    std::vector<WindowTile> tiles;
    for (const int64_t rows : kRows) {
        for (const int64_t steps : kSteps) {
            const int64_t pieces = steps * step / kPiece;
            const WindowTile tile{static_cast<uint32_t>(subgroups), static_cast<uint32_t>(rows),
                                  static_cast<uint32_t>(columns), static_cast<uint32_t>(pieces)};
            const int64_t threads = subgroups * device.matrix.subgroup;
            const bool busy = 2 * workgroups_of(product, windows, tile) * threads >= device.threads;
            const bool fits = rows * columns <= kMostSums &&
                              bytes_of_shared(windows, tile) <= device.shared_bytes;
            // More at once than a part has would be zeros.
            const bool full =
                steps == 1 || chunks_of(windows, pieces) < chunks_of(windows, pieces / 2);
            if (busy && fits && full) tiles.push_back(tile);
        }
    }
    return tiles;
}

void set_matrix_window(Planner& planner, Group& group, const MatrixProduct& product,
                       const Windows& windows, const WindowTile& tile, const Tensor& weights) {
    const DeviceTraits& device = planner.device();
    const int64_t step = step_of(device, product.type);
    group.kernel = window_kernel_of(product.type);
    group.tested_type = "";  // the kernel's name has the type
    group.full_subgroups = true;
    const uint32_t constants[][2] = {{kThreadsId, tile.subgroups * device.matrix.subgroup},
                                     {kSubgroupsId, tile.subgroups},
                                     {kRowsId, tile.rows},
                                     {kColumnsId, tile.columns},
                                     {kPiecesId, tile.pieces},
                                     {kSubgroupId, device.matrix.subgroup},
                                     {kKernelHeightId, static_cast<uint32_t>(windows.kernel[0])},
                                     {kStepId, static_cast<uint32_t>(step)},
                                     {kKernelWidthId, static_cast<uint32_t>(windows.kernel[1])},
                                     {kStrideYId, static_cast<uint32_t>(windows.stride[0])},
                                     {kStrideXId, static_cast<uint32_t>(windows.stride[1])}};
    for (const auto& [id, value] : constants) group.specialization.emplace_back(id, value);
    const int64_t groups = quotient(product.n, kSide * tile.columns);
    const int64_t columns = groups * tile.columns;
    const auto packed = weights_by_chunk(weights, windows, tile.pieces, step, columns * kSide);
    group.push[3] =
        int_of(static_cast<int64_t>(planner.add_constant(packed.data(), packed.size()) / kPiece));
    group.push[6] = int_of(quotient(product.n, 4));
    group.push[21] = int_of(chunks_of(windows, tile.pieces));
    group.push[22] = int_of(columns);
    group.push[23] = int_of(groups);
    group.push[27] = int_of(chunks_of(windows.parts[0], tile.pieces));
    group.push[28] = int_of(quotient(windows.result[1], kSide));
    group.push[29] = int_of(quotient(windows.result[0], int64_t{tile.subgroups} * tile.rows));
    group.push[30] = int_of(windows.images);
    group.workgroups = static_cast<uint64_t>(workgroups_of(product, windows, tile));
}

}  // namespace arm_runtime::vgf
