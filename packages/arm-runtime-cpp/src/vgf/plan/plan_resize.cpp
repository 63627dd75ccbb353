// RESIZE on kernels/resize.comp.
#include <spirv/unified1/TOSA.001000.1.h>

#include <algorithm>

#include "anchors.hpp"
#include "elementwise.hpp"

namespace arm_runtime::vgf {

void plan_resize(Planner& planner) {
    constexpr int64_t kBilinear = 2;  // TOSA's resize_mode
    constexpr int64_t kThreads = 64;
    constexpr int64_t kMostFours = 4;
    const Graph& graph = planner.graph();
    const Operator& op = planner.op();
    const Tensor& x = planner.operand(1);
    const Tensor& y = planner.result();
    const auto scale = graph.integers(op, 2);  // numerator and denominator of y, then of x
    const auto offset = graph.integers(op, 3);
    Group& group = planner.begin("resize");
    const int64_t quads = x.shape[3] % 4 == 0 ? x.shape[3] / 4 : 0;
    const int64_t of_row = y.shape[2] * quads;
    const int64_t fours = std::clamp<int64_t>(of_row / kThreads, 1, kMostFours);
    const int64_t parts = (of_row + kThreads * fours - 1) / (kThreads * fours);
    group.specialization = {{20, type_code(x.type)},
                            {21, graph.integer(op, 0) == kBilinear ? 1U : 0U},
                            {22, static_cast<uint32_t>(quads)},
                            {23, static_cast<uint32_t>(fours)},
                            {25, static_cast<uint32_t>(scale[0])},
                            {26, static_cast<uint32_t>(scale[2])}};
    planner.read(group, 1, 2, 24);
    const std::array<int64_t, 11> numbers = {x.shape[1], x.shape[2], x.shape[3], y.shape[1],
                                             y.shape[2], scale[1],   offset[0],  parts,
                                             scale[3],   offset[1],  y.shape[0]};
    for (size_t i = 0; i < numbers.size(); ++i)
        group.push[3 + i] = static_cast<int32_t>(numbers[i]);
    if (quads != 0) group.workgroups = static_cast<uint64_t>(y.shape[0] * y.shape[1] * parts);
}

}  // namespace arm_runtime::vgf
