// AVG_POOL2D and MAX_POOL2D on kernels/pool.comp.
#include <spirv/unified1/TOSA.001000.1.h>

#include "anchors.hpp"
#include "candidates.hpp"
#include "elementwise.hpp"
#include "lanes.hpp"

namespace arm_runtime::vgf {
namespace {

// Constants of kernels/pool.comp.
constexpr uint32_t kTypeId = 20;
constexpr uint32_t kAverageId = 21;
constexpr uint32_t kSplitId = 22;
constexpr uint32_t kVectorsId = 23;
constexpr uint32_t kInputBufferId = 24;
constexpr uint32_t kIgnoreNanId = 25;

/// reciprocal_scale of TOSA, of a whole window.
int32_t multiplier_of(int64_t count) {
    int shift = 0;
    while ((int64_t{1} << shift) < count) ++shift;
    return int_of((((int64_t{1} << 30) + 1) << shift) / count);
}

}  // namespace

void plan_pool(Planner& planner) {
    const Graph& graph = planner.graph();
    const Operator& op = planner.op();
    const bool average = op.opcode == TOSAAVG_POOL2D;
    const Tensor& x = planner.operand(4);
    const Tensor& y = planner.result();
    const auto kernel = graph.integers(op, 0);
    const auto stride = graph.integers(op, 1);
    const auto pad = graph.integers(op, 2);
    const int64_t window = kernel[0] * kernel[1];
    Group& group = planner.begin("pool");
    group.specialization = {
        {kTypeId, type_code(x.type)},
        {kAverageId, average ? 1U : 0U},
        {kVectorsId, x.shape[3] % 4 == 0 ? 1U : 0U},
        {kIgnoreNanId, !average ? nan_mode(graph, op, 3) : 0U},
    };
    const Candidate& chosen =
        choose_candidate(group, planner.device(), !is_float(x.type), {group.elements, window});
    const uint32_t lanes = lanes_of(elements(y), window, 1, planner.device());
    const uint32_t split = std::max(least_lanes(window), scaled(lanes, chosen.split, 64));
    group.specialization.emplace_back(kSplitId, split);
    group.elements_per_group = elements_of_group(split);
    planner.read(group, 4, 2, kInputBufferId);
    group.push[3] = int_of(x.shape[1]);
    group.push[4] = int_of(x.shape[2]);
    group.push[5] = int_of(x.shape[3]);
    group.push[6] = int_of(y.shape[1]);
    group.push[7] = int_of(y.shape[2]);
    group.push[8] = int_of(kernel[0]);
    group.push[9] = int_of(kernel[1]);
    group.push[10] = int_of(stride[0]);
    group.push[11] = int_of(stride[1]);
    group.push[12] = int_of(pad[0]);
    group.push[13] = int_of(pad[2]);
    if (average && !is_float(x.type)) {
        group.push[14] = int_of(graph.integer(op, 5));
        group.push[15] = int_of(graph.integer(op, 6));
        group.push[16] = int_of(window);
        group.push[17] = multiplier_of(window);
    }
}

}  // namespace arm_runtime::vgf
