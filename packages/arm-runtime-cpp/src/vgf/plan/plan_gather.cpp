// GATHER and SCATTER.
#include <spirv/unified1/TOSA.001000.1.h>

#include "anchors.hpp"
#include "elementwise.hpp"

namespace arm_runtime::vgf {
namespace {}  // namespace

void plan_gather(Planner& planner) {
    const Tensor& values = planner.operand(0);
    Group& group = planner.begin("gather");
    group.specialization = {{20, type_code(values.type)}, {21, values.shape[2] % 4 == 0 ? 1U : 0U}};
    planner.read(group, 0, 2, 24);
    planner.read(group, 1, 3, 25);
    group.push[4] = int_of(values.shape[1]);
    group.push[5] = int_of(values.shape[2]);
    group.push[6] = int_of(planner.operand(1).shape[1]);
}

void plan_scatter(Planner& planner) {
    plan_copied_operand(planner, 0);
    const Tensor& values = planner.operand(0);
    const Tensor& input = planner.operand(2);
    const auto element = static_cast<int64_t>(size_of(input.type));
    const int64_t row = values.shape[2] * element;
    int64_t unit = element;
    for (const int64_t wide : {4, 8, 16}) {
        if (row % wide == 0) unit = wide;
    }
    const auto count = static_cast<uint32_t>(unit / element);
    Group& group = planner.begin("scatter");
    group.specialization = {{20, static_cast<uint32_t>(unit)}};
    planner.read(group, 2, 2, 23, count);
    planner.read(group, 1, 3, 24);
    planner.write(group, 4, 25, count);
    group.reads.push_back(planner.op().results[0]);
    const int64_t threads = elements(input) / count;
    group.push[5] = int_of(threads);
    group.push[6] = int_of(values.shape[1]);
    group.push[7] = int_of(row / unit);
    group.push[8] = int_of(input.shape[1]);
    group.workgroups = static_cast<uint64_t>((threads + 63) / 64);
}

}  // namespace arm_runtime::vgf
