#include <gtest/gtest.h>
#include <spirv/unified1/TOSA.001000.1.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "vgf/kernels/steps.h"
#include "vgf/plan/plan.hpp"

namespace arm_runtime::vgf {
namespace {

constexpr auto kI8 = ElementType::kInt8;
constexpr auto kF16 = ElementType::kFloat16;
constexpr size_t kVariants = 7;
constexpr size_t kOtherKernel = 3;  // the variant that is `gemm`

struct Sizes {
    int64_t side = 8;  // of the image
    int64_t channels = 64;
    int64_t filters = 40;
};

/// A convolution of 1 x 1. Filter n has n + 1 everywhere, of int8.
Graph convolution(ElementType type, const Sizes& sizes) {
    Graph graph;
    const auto add = [&](ElementType of, std::vector<int64_t> shape, bool constant) {
        graph.tensors.push_back({of, std::move(shape), constant, {}});
        Tensor& tensor = graph.tensors.back();
        if (constant) {
            tensor.data.resize(static_cast<size_t>(elements(tensor)) * size_of(of));
        }
        return static_cast<uint32_t>(graph.tensors.size() - 1);
    };
    const auto attribute = [&](const std::vector<int32_t>& numbers) {
        const uint32_t tensor =
            add(ElementType::kInt32, {static_cast<int64_t>(numbers.size())}, true);
        std::memcpy(graph.tensors[tensor].data.data(), numbers.data(),
                    numbers.size() * sizeof(int32_t));
        return tensor;
    };
    const ElementType sum = type == kI8 ? ElementType::kInt32 : type;
    const auto& [side, channels, filters] = sizes;
    std::vector<uint32_t> operands{attribute({0, 0, 0, 0}), attribute({1, 1}), attribute({1, 1}),
                                   attribute({1}), add(ElementType::kBool, {}, true)};
    operands.push_back(add(type, {1, side, side, channels}, false));
    graph.inputs.push_back({operands.back(), 0});
    operands.push_back(add(type, {filters, 1, 1, channels}, true));
    std::vector<uint8_t>& weights = graph.tensors[operands.back()].data;
    const size_t row = weights.size() / static_cast<size_t>(filters);
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<uint8_t>(i / row + 1);
    operands.push_back(add(sum, {filters}, true));
    operands.push_back(add(type, {1}, true));
    operands.push_back(add(type, {1}, true));
    const uint32_t result = add(sum, {1, side, side, filters}, false);
    graph.operators.push_back({TOSACONV2D, operands, {result}});
    graph.outputs.push_back({result, 1});
    return graph;
}

Plan plan_of(ElementType type, const Sizes& sizes, const DeviceTraits& device) {
    Graph graph = convolution(type, sizes);
    Plan plan;
    make_plan(graph, {{BUFFER_INPUTS, 0, 1U << 30}, {BUFFER_OUTPUTS, 0, 1U << 30}}, device, 0,
              plan);
    return plan;
}

DeviceTraits with_units() {
    DeviceTraits device;
    device.dot = true;
    device.matrix = {32, 32, 32};
    device.max_threads = 1024;
    return device;
}

std::map<uint32_t, uint32_t> constants_of(const Dispatch& dispatch) {
    return {dispatch.specialization.begin(), dispatch.specialization.end()};
}

TEST(MatrixGemm, RunsConvolutionsThatAreLargeEnough) {
    const auto kernel_of = [](ElementType type, const Sizes& sizes, const DeviceTraits& device) {
        return std::string(plan_of(type, sizes, device).dispatches.back().kernel);
    };
    EXPECT_EQ(kernel_of(kI8, {}, with_units()), "matrix_int8");
    EXPECT_EQ(kernel_of(kF16, {}, with_units()), "matrix_fp16");
    EXPECT_EQ(kernel_of(kI8, {}, {}), "gemm");
    EXPECT_EQ(kernel_of(ElementType::kFloat32, {}, with_units()), "gemm");
    EXPECT_EQ(kernel_of(ElementType::kBFloat16, {}, with_units()), "gemm");
    EXPECT_EQ(kernel_of(kI8, {3, 64, 40}, with_units()), "gemm") << "nine pixels";
    EXPECT_EQ(kernel_of(kI8, {8, 64, 12}, with_units()), "gemm") << "12 filters";
    DeviceTraits of_floats = with_units();
    of_floats.matrix.int8 = 0;
    EXPECT_EQ(kernel_of(kI8, {}, of_floats), "gemm");
}

TEST(MatrixGemm, PacksWeightsByStepsOfK) {
    const Plan plan = plan_of(kI8, {}, with_units());
    const Dispatch& dispatch = plan.dispatches.back();
    // 64 channels are two steps; 40 filters are three matrices, padded to four.
    constexpr size_t kStep = 32, kFilters = 64;
    const auto* const packed = &plan.constants[static_cast<size_t>(dispatch.push[3]) * 16];
    ASSERT_GE(plan.constants.size(),
              static_cast<size_t>(dispatch.push[3]) * 16 + 2 * kFilters * kStep);
    for (size_t at = 0; at < 2 * kFilters * kStep; ++at) {
        const size_t filter = at / kStep % kFilters;
        ASSERT_EQ(packed[at], filter < 40 ? filter + 1 : 0) << at;
    }
    EXPECT_EQ(dispatch.push[21], 2);
    EXPECT_EQ(dispatch.push[22], 4);
    EXPECT_EQ(dispatch.push[23], 3);
    EXPECT_EQ(dispatch.groups[0] * dispatch.groups[1], 4U * 3U);
}

TEST(MatrixGemm, HasVariantsOfIntegersOnly) {
    DeviceTraits device = with_units();
    std::vector<std::vector<uint8_t>> constants;
    size_t others = 0;
    for (size_t variant = 0; variant < kVariants; ++variant) {
        device.variant = [&](const char* kernel, const std::string&) {
            EXPECT_STREQ(kernel, "matrix_int8");
            return variant;
        };
        const Plan plan = plan_of(kI8, {56, 64, 64}, device);
        const Dispatch& dispatch = plan.dispatches.back();
        EXPECT_EQ(dispatch.variants.count, kVariants);
        EXPECT_STREQ(dispatch.variants.kernel, "matrix_int8");
        if (std::string(dispatch.kernel) == "gemm") {
            ++others;
            EXPECT_TRUE(dispatch.dot);
        } else {
            constants.push_back(plan.constants);
        }
    }
    EXPECT_EQ(others, 1U);
    for (const auto& one : constants) EXPECT_EQ(one, constants[0]) << "weights differ by the tile";
    device.variant = nullptr;
    EXPECT_LT(plan_of(kF16, {}, device).dispatches.back().variants.count, 2U);
}

/// The same of 3 x 3, which is 1 x 1 but for zeros around.
Plan plan_of_window(ElementType type, const Sizes& sizes, const DeviceTraits& device) {
    Graph graph = convolution(type, sizes);
    Operator& op = graph.operators[0];
    Tensor& pad = graph.tensors[op.operands[0]];
    for (size_t i = 0; i < 4; ++i) pad.data[i * sizeof(int32_t)] = 1;
    Tensor& weights = graph.tensors[op.operands[6]];
    const Tensor given = weights;
    weights.shape = {sizes.filters, 3, 3, sizes.channels};
    weights.data.assign(9 * given.data.size(), 0);
    const size_t row = given.data.size() / static_cast<size_t>(sizes.filters);
    for (size_t n = 0; n < static_cast<size_t>(sizes.filters); ++n) {
        std::memcpy(&weights.data[(9 * n + 4) * row], &given.data[n * row], row);
    }
    Plan plan;
    make_plan(graph, {{BUFFER_INPUTS, 0, 1U << 30}, {BUFFER_OUTPUTS, 0, 1U << 30}}, device, 0,
              plan);
    return plan;
}

TEST(MatrixGemm, RunsLargePicturesByWindows) {
    const Plan plan = plan_of_window(kI8, {256, 48, 24}, with_units());
    const Dispatch& dispatch = plan.dispatches.back();
    EXPECT_STREQ(dispatch.kernel, "matrix_window_int8");
    EXPECT_STREQ(plan_of_window(kF16, {256, 48, 24}, with_units()).dispatches.back().kernel,
                 "matrix_window_fp16");
    EXPECT_EQ(dispatch.variants.others[0], std::string("gemm"));
    EXPECT_EQ(dispatch.variants.others[1], std::string("matrix_int8"));
    // 48 bytes are two chunks of 32, of which the second has 16 bytes of zeros; 24 filters are two
    // matrices.
    constexpr size_t kStep = 32, kFilters = 32;
    ASSERT_EQ(constants_of(dispatch)[35], 2U);
    EXPECT_EQ(dispatch.push[21], 2);
    const auto* const packed = &plan.constants[static_cast<size_t>(dispatch.push[3]) * 16];
    for (size_t at = 0; at < kFilters * kStep * 2 * 9; ++at) {
        const size_t filter = at / kStep % kFilters;
        const size_t tap = at / kStep / kFilters % 9;
        const bool there =
            tap == 4 && filter < 24 && at % kStep + at / kStep / kFilters / 9 * 32 < 48;
        ASSERT_EQ(packed[at], there ? filter + 1 : 0) << at;
    }
}

TEST(MatrixGemm, EveryWayOfALargePictureCanBeChosen) {
    DeviceTraits device = with_units();
    std::map<std::string, size_t> kernels;
    size_t count = 1;
    for (size_t variant = 0; variant < count; ++variant) {
        device.variant = [&](const char*, const std::string&) { return variant; };
        const Dispatch dispatch = plan_of_window(kI8, {256, 48, 24}, device).dispatches.back();
        count = dispatch.variants.count;
        ++kernels[dispatch.kernel];
    }
    EXPECT_GT(kernels["matrix_window_int8"], 2U);
    EXPECT_EQ(kernels["matrix_int8"], kVariants - 1);
    EXPECT_EQ(kernels["gemm"], 1U);
}

TEST(MatrixGemm, CountsOnWholeSubgroups) {
    const auto is_full = [](const DeviceTraits& device) {
        return plan_of(kI8, {}, device).dispatches.back().full_subgroups;
    };
    EXPECT_TRUE(is_full(with_units()));
    EXPECT_FALSE(is_full({}));
}

TEST(MatrixGemm, IsJudgedByItself) {
    const auto planned = [](ElementType type, const std::string& wrong, size_t variant) {
        DeviceTraits device = with_units();
        device.wrong = {wrong};
        device.variant = [=](const char*, const std::string&) { return variant; };
        return plan_of(type, {56, 64, 64}, device).dispatches.back();
    };
    EXPECT_STREQ(planned(kI8, "matrix_fp16", 0).kernel, "matrix_int8");
    EXPECT_STREQ(planned(kF16, "matrix_fp16", 0).kernel, "gemm");
    EXPECT_STREQ(planned(kF16, "matrix_int8", 0).kernel, "matrix_fp16");
    EXPECT_STREQ(planned(kI8, "matrix_int8", 0).kernel, "gemm");
    EXPECT_TRUE(planned(kI8, "matrix_int8", 0).dot);
    EXPECT_FALSE(planned(kI8, "gemm+dot", kOtherKernel).dot);
    // A search turns to `gemm` only where that is right.
    EXPECT_STREQ(planned(kI8, "gemm+dot", kOtherKernel).variants.others[0], "gemm");
    EXPECT_STREQ(planned(kI8, "gemm+dot", kOtherKernel).kernel, "gemm");
    EXPECT_STREQ(planned(kI8, "gemm", kOtherKernel).variants.others[0], "");
    EXPECT_STREQ(planned(kI8, "gemm", kOtherKernel).kernel, "matrix_int8");
}

void expect_fits(const Dispatch& dispatch, int64_t max_threads) {
    auto c = constants_of(dispatch);
    const uint32_t rows = c[22];
    const uint32_t stride = c[28] * c[29] / 16 + 1;
    const uint32_t room = std::max(64 * rows * c[25], 16 * rows * stride);
    EXPECT_LE(c[21] * room * 16, 16384U) << "bytes of shared memory";
    EXPECT_LE(c[20], max_threads);
    EXPECT_EQ(c[20], c[21] * c[27]);
    EXPECT_EQ(static_cast<uint32_t>(dispatch.push[21]) % c[28], 0U);
}

TEST(MatrixGemm, FitsEveryDevice) {
    for (const int64_t max_threads : {128, 1024}) {
        for (const int64_t side : {4, 8, 28, 112}) {
            for (const int64_t channels : {4, 24, 64, 512}) {
                for (size_t variant = 0; variant < kVariants; ++variant) {
                    DeviceTraits device = with_units();
                    device.max_threads = max_threads;
                    device.variant = [&](const char*, const std::string&) { return variant; };
                    const Plan plan = plan_of(kI8, {side, channels, 96}, device);
                    const Dispatch& dispatch = plan.dispatches.back();
                    if (std::string(dispatch.kernel) != "gemm") expect_fits(dispatch, max_threads);
                }
            }
        }
    }
}

}  // namespace
}  // namespace arm_runtime::vgf
