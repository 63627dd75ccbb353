#include "vgf/plan/matrix_window.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace arm_runtime::vgf {
namespace {

constexpr auto kI8 = ElementType::kInt8;
constexpr auto kF16 = ElementType::kFloat16;

DeviceTraits with_units() {
    DeviceTraits device;
    device.matrix = {32, 32, 32};
    return device;
}

Windows windows(int64_t height, int64_t width, std::vector<int64_t> parts, int64_t stride = 1) {
    return {{3, 3}, {stride, stride}, {1, 1}, {height, width}, 1, std::move(parts)};
}

std::vector<WindowTile> tiles(const DeviceTraits& device, ElementType type, int64_t filters,
                              const Windows& windows) {
    const int64_t m = windows.images * windows.result[0] * windows.result[1];
    return window_tiles(device, {m, filters, 9 * windows.parts[0], type}, windows);
}

TEST(MatrixWindow, IsForLargePictures) {
    const DeviceTraits device = with_units();
    EXPECT_FALSE(tiles(device, kI8, 48, windows(360, 640, {48})).empty());
    EXPECT_FALSE(tiles(device, kF16, 12, windows(360, 640, {96})).empty());
    EXPECT_TRUE(tiles(device, kI8, 48, windows(32, 32, {48})).empty()) << "few pixels";
    EXPECT_TRUE(tiles(device, kI8, 4, windows(360, 640, {48})).empty()) << "few filters";
    EXPECT_TRUE(tiles(device, ElementType::kFloat32, 48, windows(360, 640, {192})).empty());
    EXPECT_TRUE(tiles({}, kI8, 48, windows(360, 640, {48})).empty()) << "no matrix units";
    Windows other = windows(360, 640, {48});
    other.dilation = {2, 2};
    EXPECT_TRUE(tiles(device, kI8, 48, other).empty());
    other = windows(360, 640, {48});
    other.kernel = {1, 1};
    EXPECT_TRUE(tiles(device, kI8, 48, other).empty());
    DeviceTraits wrong = device;
    wrong.wrong = {"matrix_window_int8"};
    EXPECT_TRUE(tiles(wrong, kI8, 48, windows(360, 640, {48})).empty());
    EXPECT_FALSE(tiles(wrong, kF16, 48, windows(360, 640, {96})).empty());
}

bool fits(const WindowTile& tile, int64_t shared, int64_t stride) {
    const int64_t down = int64_t{tile.subgroups} * tile.rows;
    const int64_t picture = ((down - 1) * stride + 3) * (15 * stride + 3);
    const int64_t sums = int64_t{64} * tile.columns * tile.subgroups;
    return std::max(picture * (tile.pieces + 1), sums) * 16 <= shared && tile.subgroups * 32 <= 128;
}

TEST(MatrixWindow, FitsTheDevice) {
    for (const int64_t shared : {16384, 49152}) {
        for (const int64_t stride : {1, 2}) {
            DeviceTraits device = with_units();
            device.shared_bytes = shared;
            const auto found = tiles(device, kI8, 96, windows(544, 960, {48, 32}, stride));
            ASSERT_FALSE(found.empty());
            for (const WindowTile& tile : found) EXPECT_TRUE(fits(tile, shared, stride));
        }
    }
}

}  // namespace
}  // namespace arm_runtime::vgf
