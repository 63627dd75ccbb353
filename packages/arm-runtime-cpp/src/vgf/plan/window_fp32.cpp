#include "window_fp32.hpp"

#include <algorithm>
#include <cstring>

#include "../kernels/steps.h"

namespace arm_runtime::vgf {
namespace {

// Constants of kernels/window_fp32.comp.
constexpr uint32_t kThreadsId = 20;
constexpr uint32_t kQuadsId = 21;
constexpr uint32_t kRowsId = 22;
constexpr uint32_t kBandsId = 25;
constexpr uint32_t kKernelHeightId = 28;
constexpr uint32_t kKernelWidthId = 32;
constexpr uint32_t kStrideYId = 33;
constexpr uint32_t kStrideXId = 34;

constexpr int64_t kPiece = 16;  // bytes of four numbers
constexpr int64_t kMostThreads = 256;
constexpr int64_t kMostLoads = 8;  // pieces of a chunk that a thread reads
constexpr uint32_t kRows[] = {8, 4, 2};
/// A part of the threads that keep a device busy is enough: each computes more than one of gemm.
constexpr int64_t kEnough = 4;
constexpr int64_t kLeastFilters = 8;
constexpr int64_t kLeastPixels = 4096;

int64_t quotient(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t tile_rows(const Fp32Tile& tile) { return int64_t{tile.bands} * tile.rows; }

bool fits(const DeviceTraits& device, const Windows& windows, const Fp32Tile& tile) {
    const int64_t threads = int64_t{WINDOW_WIDTH} * tile.quads * tile.bands;
    const int64_t reach_y = (tile_rows(tile) - 1) * windows.stride[0] + windows.kernel[0];
    const int64_t reach_x = int64_t{WINDOW_WIDTH - 1} * windows.stride[1] + windows.kernel[1];
    const int64_t weights = windows.kernel[0] * windows.kernel[1] * 4 * tile.quads;
    const int64_t pieces = std::max(reach_y * reach_x + weights, threads);
    return threads <= std::min(kMostThreads, device.max_threads) &&
           pieces * kPiece <= device.shared_bytes &&
           reach_y * reach_x + weights <= kMostLoads * threads;
}

int64_t workgroups_of(const MatrixProduct& product, const Windows& windows, const Fp32Tile& tile) {
    return windows.images * quotient(windows.result[0], tile_rows(tile)) *
           quotient(windows.result[1], WINDOW_WIDTH) * quotient(product.n, int64_t{4} * tile.quads);
}

/// Weights as the kernel reads them: [filters of a workgroup, fours of channels, taps, channel,
/// fours of filters].
std::vector<float> weights_of(const Tensor& weights, int64_t of_row) {
    const int64_t filters = weights.shape[0];
    const int64_t taps = weights.shape[1] * weights.shape[2];
    const int64_t channels = weights.shape[3];
    std::vector<float> out(
        static_cast<size_t>(quotient(filters, of_row) * of_row * taps * channels));
    for (int64_t n = 0; n < filters; ++n) {
        for (int64_t i = 0; i < taps * channels; ++i) {
            const int64_t channel = i % channels;
            const int64_t chunk = n / of_row * (channels / 4) + channel / 4;
            const int64_t at =
                ((chunk * taps + i / channels) * 4 + channel % 4) * of_row + n % of_row;
            std::memcpy(&out[static_cast<size_t>(at)],
                        &weights.data[static_cast<size_t>(n * taps * channels + i) * sizeof(float)],
                        sizeof(float));
        }
    }
    return out;
}

}  // namespace

std::optional<Fp32Tile> fp32_tile(const DeviceTraits& device, const MatrixProduct& product,
                                  const Windows& windows) {
    if (find_optional_kernel("window_fp32", false) == nullptr) return {};
    const bool has_windows = windows.kernel[0] * windows.kernel[1] > 1;
    const bool is_cpu = device.threads <= 1;  // which has no memory that threads share
    if (product.type != ElementType::kFloat32 || is_cpu || !has_windows ||
        windows.dilation != std::array<int64_t, 2>{1, 1} || product.n < kLeastFilters ||
        product.m < kLeastPixels || device.wrong.count(label_of("window_fp32", false, "")) != 0) {
        return {};
    }
    const int64_t most = std::min(kMostThreads, device.max_threads) / WINDOW_WIDTH;
    const int64_t all = quotient(product.n, 4);
    const auto quads = static_cast<uint32_t>(quotient(all, quotient(all, most)));
    const auto most_bands = std::max(1U, static_cast<uint32_t>(most) / quads / 2);
    for (const uint32_t rows : kRows) {
        for (uint32_t bands = most_bands; bands > 0; bands /= 2) {
            const Fp32Tile tile{rows, quads, bands};
            const int64_t threads = int64_t{WINDOW_WIDTH} * quads * bands;
            const int64_t all_threads = workgroups_of(product, windows, tile) * threads;
            const bool busy = kEnough * all_threads >= device.threads;
            if (busy && fits(device, windows, tile)) return tile;
        }
    }
    return {};
}

bool set_window_fp32(Planner& planner, Group& group, const MatrixProduct& product,
                     const Windows& windows, const Tensor& weights) {
    const auto tile = fp32_tile(planner.device(), product, windows);
    if (!tile) return false;
    group.kernel = "window_fp32";
    group.tested_type = "";  // the kernel's name has the type
    const uint32_t constants[][2] = {{kThreadsId, WINDOW_WIDTH * tile->quads * tile->bands},
                                     {kQuadsId, tile->quads},
                                     {kRowsId, tile->rows},
                                     {kBandsId, tile->bands},
                                     {kKernelHeightId, static_cast<uint32_t>(windows.kernel[0])},
                                     {kKernelWidthId, static_cast<uint32_t>(windows.kernel[1])},
                                     {kStrideYId, static_cast<uint32_t>(windows.stride[0])},
                                     {kStrideXId, static_cast<uint32_t>(windows.stride[1])}};
    for (const auto& [id, value] : constants) group.specialization.emplace_back(id, value);
    const auto packed = weights_of(weights, int64_t{4} * tile->quads);
    group.push[3] = int_of(static_cast<int64_t>(
        planner.add_constant(packed.data(), packed.size() * sizeof(float)) / kPiece));
    group.push[6] = int_of(quotient(product.n, 4));
    group.push[21] = int_of(weights.shape[3] / 4);
    group.push[23] = int_of(quotient(product.n, int64_t{4} * tile->quads));
    group.push[28] = int_of(quotient(windows.result[1], WINDOW_WIDTH));
    group.push[29] = int_of(quotient(windows.result[0], tile_rows(*tile)));
    group.push[30] = int_of(windows.images);
    group.workgroups = static_cast<uint64_t>(workgroups_of(product, windows, *tile));
    return true;
}

}  // namespace arm_runtime::vgf
