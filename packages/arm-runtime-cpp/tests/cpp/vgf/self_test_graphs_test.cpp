#include "vgf/self_test_graphs.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "vgf/kernels/steps.h"
#include "vgf/plan/plan.hpp"

namespace arm_runtime::vgf {
namespace {

TEST(SelfTestGraphs, RunOnTheirKernels) {
    for (const char* const kernel :
         {"convolution", "copy", "depthwise", "elementwise", "fft", "gather", "gemm", "pool",
          "reduce", "resize", "row", "scatter", "transpose"}) {
        TestGraph test = test_graph(kernel);
        ResourceSlots slots;
        for (const Bytes& data : test.inputs) {
            slots.push_back({BUFFER_INPUTS, slots.size() << 20, data.size()});
        }
        for (const Bytes& data : test.outputs) {
            slots.push_back({BUFFER_OUTPUTS, slots.size() << 20, data.size()});
        }
        Plan plan;
        make_plan(test.graph, slots, {}, 0, plan);
        const auto& dispatches = plan.dispatches;
        EXPECT_TRUE(std::any_of(dispatches.begin(), dispatches.end(), [&](const Dispatch& d) {
            return std::string(d.kernel) == kernel;
        })) << kernel;
    }
    EXPECT_THROW(test_graph("warp"), Error);
}

}  // namespace
}  // namespace arm_runtime::vgf
