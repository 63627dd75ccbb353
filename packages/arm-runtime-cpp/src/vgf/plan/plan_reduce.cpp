// REDUCE_... and ARGMAX on kernels/reduce.comp.
#include <spirv/unified1/TOSA.001000.1.h>

#include "anchors.hpp"
#include "candidates.hpp"
#include "elementwise.hpp"
#include "lanes.hpp"

namespace arm_runtime::vgf {
namespace {

// Of kernels/reduce.comp.
enum Kind : uint32_t { kSum, kProduct, kMax, kMin, kArgmax };
constexpr uint32_t kTypeId = 20;
constexpr uint32_t kKindId = 21;
constexpr uint32_t kSplitId = 22;
constexpr uint32_t kVectorsId = 23;
constexpr uint32_t kInputBufferId = 24;
constexpr uint32_t kIgnoreNanId = 25;

Kind kind_of(uint32_t opcode) {
    switch (opcode) {
        case TOSAARGMAX:
            return kArgmax;
        case TOSAREDUCE_SUM:
            return kSum;
        case TOSAREDUCE_PRODUCT:
            return kProduct;
        case TOSAREDUCE_MAX:
        case TOSAREDUCE_ANY:  // bools are bytes of 0 and 1
            return kMax;
        default:
            return kMin;
    }
}

}  // namespace

void plan_reduce(Planner& planner) {
    const Graph& graph = planner.graph();
    const Operator& op = planner.op();
    const bool has_nan_mode = op.operands.size() == 3;  // axis, nan_mode, input
    const size_t input = has_nan_mode ? 2 : 1;
    const Tensor& x = planner.operand(input);
    const auto axis = static_cast<size_t>(graph.integer(op, 0));
    const int64_t n = x.shape[axis];
    int64_t inner = 1;
    for (size_t i = axis + 1; i < x.shape.size(); ++i) inner *= x.shape[i];
    const uint32_t along_inner = inner % 4 == 0 ? 1 : 0;
    const uint32_t along_axis = inner == 1 && n % 4 == 0 ? 2 : 0;
    Group& group = planner.begin("reduce");
    // Neighbours along the innermost axis are read by neighbours among the threads.
    group.specialization = {
        {kTypeId, type_code(x.type)},
        {kKindId, kind_of(op.opcode)},
        {kVectorsId, along_inner | along_axis},
        {kIgnoreNanId, has_nan_mode ? nan_mode(graph, op, 1) : 0U},
    };
    const Candidate& chosen =
        choose_candidate(group, planner.device(), !is_float(x.type), {group.elements, n, inner});
    const int64_t steps = along_axis != 0 ? n / 4 : n;
    const uint32_t lanes =
        lanes_of(elements(planner.result()), steps, inner == 1 ? 16 : 1, planner.device());
    const uint32_t split = std::max(least_lanes(steps), scaled(lanes, chosen.split, 64));
    group.specialization.emplace_back(kSplitId, split);
    group.elements_per_group = elements_of_group(split);
    planner.read(group, input, 2, kInputBufferId);
    group.push[3] = static_cast<int32_t>(n);
    group.push[4] = static_cast<int32_t>(inner);
}

}  // namespace arm_runtime::vgf
