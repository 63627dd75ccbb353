// RESIZE on kernels/resize.comp.
#include <spirv/unified1/TOSA.001000.1.h>

#include "anchors.hpp"
#include "elementwise.hpp"

namespace arm_runtime::vgf {

void plan_resize(Planner& planner) {
    constexpr int64_t kBilinear = 2;  // TOSA's resize_mode
    constexpr uint32_t kMostFours = 4;
    const Graph& graph = planner.graph();
    const Operator& op = planner.op();
    const Tensor& x = planner.operand(1);
    const Tensor& y = planner.result();
    const auto scale = graph.integers(op, 2);  // numerator and denominator of y, then of x
    const auto offset = graph.integers(op, 3);
    Group& group = planner.begin("resize");
    group.specialization = {{20, type_code(x.type)},
                            {21, graph.integer(op, 0) == kBilinear ? 1U : 0U},
                            {22, x.shape[3] % 4 == 0 ? 1U : 0U}};
    // Where a pixel lies is found once for several fours of its channels.
    uint32_t fours = 1;
    while (fours < kMostFours && x.shape[3] % (int64_t{8} * fours) == 0) fours *= 2;
    group.specialization.emplace_back(23, fours);
    group.elements_per_group *= fours;
    planner.read(group, 1, 2, 24);
    const std::array<int64_t, 11> numbers = {x.shape[1], x.shape[2], x.shape[3], y.shape[1],
                                             y.shape[2], scale[0],   scale[1],   offset[0],
                                             scale[2],   scale[3],   offset[1]};
    for (size_t i = 0; i < numbers.size(); ++i)
        group.push[3 + i] = static_cast<int32_t>(numbers[i]);
}

}  // namespace arm_runtime::vgf
