#include "vgf/self_test_graphs.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "vgf/graph/check_operator.hpp"
#include "vgf/kernels/steps.h"
#include "vgf/plan/plan.hpp"

namespace arm_runtime::vgf {
namespace {

/// Plans the graph of a kernel's self-test, which must run on it, for this type.
void run_on(const std::string& kernel, const std::string& tested_type) {
    TestGraph test = test_graph(kernel, tested_type);
    for (const Operator& op : test.graph.operators) {
        if (tested_type.empty()) continue;  // those of integers spell some attributes as lists
        EXPECT_NO_THROW(check_operator(test.graph, op)) << kernel << tested_type;
    }
    ResourceSlots slots;
    for (const Bytes& data : test.inputs) {
        slots.push_back({BUFFER_INPUTS, slots.size() << 20, data.size()});
    }
    for (const Bytes& data : test.outputs) {
        slots.push_back({BUFFER_OUTPUTS, slots.size() << 20, data.size()});
    }
    DeviceTraits device;
    device.matrix = {32, 32, 32};
    Plan plan;
    make_plan(test.graph, slots, device, 0, plan);
    const auto& dispatches = plan.dispatches;
    EXPECT_TRUE(std::any_of(
        dispatches.begin(), dispatches.end(),
        [&](const Dispatch& d) { return d.kernel == kernel && d.tested_type == tested_type; }))
        << kernel << tested_type;
}

TEST(SelfTestGraphs, RunOnTheirKernels) {
    struct Row {
        const char* kernel;
        std::vector<std::string> types = {""};
    };
    const std::vector<std::string> all = {"", "i16", "fp32", "fp16", "bf16"};
    const Row rows[] = {{"convolution", all},
                        {"copy"},
                        {"depthwise", all},
                        {"elementwise"},
                        {"fft"},
                        {"gather"},
                        {"gemm", all},
                        {"matrix_fp16"},
                        {"matrix_int8"},
                        {"matrix_window_fp16"},
                        {"matrix_window_int8"},
                        {"pool"},
                        {"reduce"},
                        {"resize"},
                        {"row"},
                        {"scatter"},
                        {"transpose"},
                        {"window_fp32"}};
    for (const Row& row : rows) {
        for (const std::string& tested_type : row.types) run_on(row.kernel, tested_type);
    }
    EXPECT_THROW(test_graph("warp", ""), Error);
    EXPECT_THROW(test_graph("gemm", "fp64"), Error);
    EXPECT_THROW(test_graph("pool", "fp32"), Error);
}

}  // namespace
}  // namespace arm_runtime::vgf
