// CONV2D, CONV3D, DEPTHWISE_CONV2D, TRANSPOSE_CONV2D and MATMUL.
#include <spirv/unified1/TOSA.001000.1.h>

#include "anchors.hpp"
#include "candidates.hpp"
#include "elementwise.hpp"
#include "lanes.hpp"

namespace arm_runtime::vgf {
namespace {

// Of kernels/convolution.comp.
enum Kind : uint32_t { kConvolution, kDepthwise, kTransposed, kMatmul };
constexpr uint32_t kKindId = 20;
constexpr uint32_t kInputTypeId = 21;
constexpr uint32_t kWeightTypeId = 22;
constexpr uint32_t kSumTypeId = 23;
constexpr uint32_t kInputBufferId = 24;
constexpr uint32_t kWeightBufferId = 25;
constexpr uint32_t kBiasBufferId = 26;
constexpr uint32_t kSplitId = 27;

/// Three numbers, of depth, height and width; a 2D operator has `missing` for the depth.
std::array<int32_t, 3> spatial(const std::vector<int64_t>& values, size_t step, int32_t missing) {
    std::array<int32_t, 3> out{missing, 0, 0};
    const size_t count = values.size() / step;
    for (size_t i = 0; i < count; ++i) out[3 - count + i] = int_of(values[i * step]);
    return out;
}

void set(Group& group, size_t at, const std::array<int32_t, 3>& values) {
    for (size_t i = 0; i < 3; ++i) group.push[at + i] = values[i];
}

/// Several threads for each sum, where there are few sums, and long ones.
void set_split(Group& group, int64_t terms, bool integers, const DeviceTraits& device) {
    const Candidate& chosen = choose_candidate(group, device, integers, {group.elements, terms});
    const uint32_t lanes = lanes_of(group.elements, terms, 4, device);
    const uint32_t split = std::max(least_lanes(terms), scaled(lanes, chosen.split, 64));
    group.specialization.emplace_back(kSplitId, split);
    group.elements_per_group = elements_of_group(split);
}

/// Push constants that are the same for all: the sizes of the input and of the result.
void set_sizes(Group& group, const Tensor& input, const Tensor& result) {
    const std::vector<int64_t>& in = input.shape;
    const std::vector<int64_t>& out = result.shape;
    set(group, 7, spatial({in.begin() + 1, in.end() - 1}, 1, 1));
    group.push[10] = int_of(in.back());
    set(group, 11, spatial({out.begin() + 1, out.end() - 1}, 1, 1));
    group.push[14] = int_of(out.back());
}

}  // namespace

void plan_convolution(Planner& planner) {
    if (plan_gemm(planner) || plan_depthwise(planner)) return;
    const Graph& graph = planner.graph();
    const Operator& op = planner.op();
    const bool transposed = op.opcode == TOSATRANSPOSE_CONV2D;
    // TRANSPOSE_CONV2D has no dilation: out_pad, stride, acc_type, local_bound.
    const size_t input = transposed ? 4 : 5;
    const Tensor& x = planner.operand(input);
    const Tensor& w = planner.operand(input + 1);
    Group& group = planner.begin("convolution");
    group.tested_type = tested_type_of(x.type);
    const Kind kind = transposed                          ? kTransposed
                      : op.opcode == TOSADEPTHWISE_CONV2D ? kDepthwise
                                                          : kConvolution;
    group.specialization = {{kKindId, kind},
                            {kInputTypeId, type_code(x.type)},
                            {kWeightTypeId, type_code(w.type)},
                            {kSumTypeId, type_code(planner.result().type)}};
    planner.read(group, input, 2, kInputBufferId);
    planner.read(group, input + 1, 3, kWeightBufferId);
    planner.read(group, input + 2, 4, kBiasBufferId);
    if (!is_float(x.type)) {
        group.push[5] = int_of(graph.integer(op, input + 3));
        group.push[6] = int_of(graph.integer(op, input + 4));
    }
    set_sizes(group, x, planner.result());
    const std::vector<int64_t>& ws = w.shape;
    if (kind == kDepthwise) {
        set(group, 15, spatial({ws[0], ws[1]}, 1, 1));
    } else {
        set(group, 15, spatial({ws.begin() + 1, ws.end() - 1}, 1, 1));
    }
    set(group, 18, spatial(graph.integers(op, 1), 1, 1));
    if (transposed) {
        // out_pad: y = iy * stride + ky + out_pad_top, so that iy * stride = y - out_pad_top - ky.
        const auto pad = graph.integers(op, 0);
        set(group, 21, {0, -int_of(pad[0]), -int_of(pad[2])});
        set(group, 24, {1, 1, 1});
    } else {
        set(group, 21, spatial(graph.integers(op, 0), 2, 0));
        set(group, 24, spatial(graph.integers(op, 2), 1, 1));
    }
    group.push[27] = int_of(elements(planner.operand(input + 2)));
    const int64_t taps = int64_t{group.push[15]} * group.push[16] * group.push[17];
    set_split(group, kind == kDepthwise ? taps : taps * x.shape.back(), !is_float(x.type),
              planner.device());
    group.macs = static_cast<uint64_t>(
        elements(transposed ? x : planner.result()) *
        (elements(w) / (transposed ? x.shape.back() : planner.result().shape.back())));
}

void plan_matmul(Planner& planner) {
    if (plan_matmul_gemm(planner)) return;
    const Graph& graph = planner.graph();
    const Operator& op = planner.op();
    const Tensor& a = planner.operand(0);
    const Tensor& b = planner.operand(1);
    const Tensor& result = planner.result();
    Group& group = planner.begin("convolution");
    group.tested_type = tested_type_of(a.type);
    group.specialization = {{kKindId, kMatmul},
                            {kInputTypeId, type_code(a.type)},
                            {kWeightTypeId, type_code(b.type)},
                            {kSumTypeId, type_code(result.type)}};
    planner.read(group, 0, 2, kInputBufferId);
    planner.read(group, 1, 3, kWeightBufferId);
    if (!is_float(a.type)) {
        group.push[5] = int_of(graph.integer(op, 2));
        group.push[6] = int_of(graph.integer(op, 3));
    }
    group.push[10] = int_of(a.shape[2]);
    set(group, 11, {1, int_of(result.shape[1]), 1});
    group.push[14] = int_of(result.shape[2]);
    group.macs = static_cast<uint64_t>(elements(result) * a.shape[2]);
    set_split(group, a.shape[2], !is_float(a.type), planner.device());
}

}  // namespace arm_runtime::vgf
