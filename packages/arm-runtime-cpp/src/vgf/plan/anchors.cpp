#include "anchors.hpp"

#include <spirv/unified1/TOSA.001000.1.h>

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
    {TOSAAVG_POOL2D, plan_pool},
    {TOSAMAX_POOL2D, plan_pool},
    {TOSAARGMAX, plan_reduce},
    {TOSAREDUCE_ALL, plan_reduce},
    {TOSAREDUCE_ANY, plan_reduce},
    {TOSAREDUCE_MAX, plan_reduce},
    {TOSAREDUCE_MIN, plan_reduce},
    {TOSAREDUCE_PRODUCT, plan_reduce},
    {TOSAREDUCE_SUM, plan_reduce},
    {TOSACONCAT, plan_concat},
    {TOSAPAD, plan_copy},
    {TOSAREVERSE, plan_copy},
    {TOSASLICE, plan_copy},
    {TOSATILE, plan_copy},
    {TOSATRANSPOSE, plan_copy},
    {TOSAGATHER, plan_gather},
    {TOSASCATTER, plan_scatter},
    {TOSARESIZE, plan_resize},
    {TOSAFFT2D, plan_fft},
    {TOSARFFT2D, plan_fft},
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
