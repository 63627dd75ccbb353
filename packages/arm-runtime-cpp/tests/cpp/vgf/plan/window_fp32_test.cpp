#include "vgf/plan/window_fp32.hpp"

#include <gtest/gtest.h>

#include "vgf/kernels/steps.h"

namespace arm_runtime::vgf {
namespace {

constexpr auto kF32 = ElementType::kFloat32;

Windows windows(int64_t height, int64_t width, int64_t stride = 1, int64_t side = 3) {
    return {{side, side}, {stride, stride}, {1, 1}, {height, width}, 1, {192}};
}

std::optional<Fp32Tile> tile(const DeviceTraits& device, int64_t filters, const Windows& windows,
                             ElementType type = kF32) {
    const int64_t m = windows.images * windows.result[0] * windows.result[1];
    return fp32_tile(device, {m, filters, 9 * windows.parts[0], type}, windows);
}

TEST(WindowFp32, IsForLargePicturesOnGpus) {
    const DeviceTraits device;
    EXPECT_TRUE(tile(device, 48, windows(360, 640)));
    EXPECT_FALSE(tile(device, 48, windows(360, 640), ElementType::kFloat16))
        << "has another kernel";
    EXPECT_FALSE(tile(device, 48, windows(32, 32))) << "few pixels";
    EXPECT_FALSE(tile(device, 4, windows(360, 640))) << "few filters";
    EXPECT_FALSE(tile(device, 48, windows(360, 640, 1, 1)));
    Windows dilated = windows(360, 640);
    dilated.dilation = {2, 2};
    EXPECT_FALSE(tile(device, 48, dilated));
    DeviceTraits other;
    other.threads = 1;
    EXPECT_FALSE(tile(other, 48, windows(360, 640))) << "a processor";
    other = device;
    other.wrong = {"window_fp32"};
    EXPECT_FALSE(tile(other, 48, windows(360, 640)));
}

TEST(WindowFp32, FitsTheDevice) {
    for (const int64_t filters : {8, 12, 16, 48, 96, 100}) {
        for (const int64_t stride : {1, 2}) {
            for (const int64_t side : {2, 3, 5, 11}) {
                for (const int64_t threads : {128, 1024}) {
                    DeviceTraits device;
                    device.max_threads = threads;
                    const auto found = tile(device, filters, windows(544, 960, stride, side));
                    if (!found) {
                        EXPECT_GT(side, 3) << "of large windows";
                        continue;
                    }
                    const int64_t of_workgroup =
                        int64_t{WINDOW_WIDTH} * found->quads * found->bands;
                    EXPECT_LE(of_workgroup, std::min<int64_t>(threads, 256));
                    const int64_t down = (int64_t{found->bands} * found->rows - 1) * stride + side;
                    const int64_t across = int64_t{WINDOW_WIDTH - 1} * stride + side;
                    const int64_t weights = side * side * 4 * found->quads;
                    EXPECT_LE((down * across + weights) * 16, device.shared_bytes);
                }
            }
        }
    }
}

}  // namespace
}  // namespace arm_runtime::vgf
