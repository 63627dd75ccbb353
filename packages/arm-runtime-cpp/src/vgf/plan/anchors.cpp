#include "anchors.hpp"

#include "tosa_opcodes.hpp"

namespace arm_runtime::vgf {
namespace {

struct Anchor {
    uint32_t opcode;
    void (*plan)(Planner&);
};

constexpr Anchor kAnchors[] = {
    {TOSACONV2D, plan_convolution},
    {TOSACONV3D, plan_convolution},
    {TOSADEPTHWISE_CONV2D, plan_convolution},
    {TOSATRANSPOSE_CONV2D, plan_convolution},
    {TOSAMATMUL, plan_matmul},
};

}  // namespace

void plan_anchor(Planner& planner) {
    for (const Anchor& anchor : kAnchors) {
        if (anchor.opcode == planner.op().opcode) return anchor.plan(planner);
    }
    throw Error(std::string(opcode_name(planner.op().opcode)) +
                " is not supported by the compute engine");
}

}  // namespace arm_runtime::vgf
