// FFT2D and RFFT2D on kernels/fft.comp: along the rows, then along the columns.
#include <spirv/unified1/TOSA.001000.1.h>

#include <cmath>
#include <cstring>

#include "anchors.hpp"

namespace arm_runtime::vgf {
namespace {

// Constants of kernels/fft.comp.
constexpr uint32_t kRealId = 20;
constexpr uint32_t kInverseId = 21;
constexpr uint32_t kRealBufferId = 24;
constexpr uint32_t kImaginaryBufferId = 25;

/// Cosines and sines of n parts of a turn; returns their first word.
int32_t add_angles(Planner& planner, int64_t n) {
    constexpr double kTurn = 6.283185307179586;
    std::vector<float> table;
    for (int64_t i = 0; i < n; ++i) {
        const double angle = kTurn * static_cast<double>(i) / static_cast<double>(n);
        table.push_back(static_cast<float>(std::cos(angle)));
        table.push_back(static_cast<float>(std::sin(angle)));
    }
    return static_cast<int32_t>(planner.add_constant(table.data(), table.size() * sizeof(float)) /
                                sizeof(float));
}

}  // namespace

void plan_fft(Planner& planner) {
    const Operator& op = planner.op();
    const bool real = op.opcode == TOSARFFT2D;
    const size_t input = real ? 1 : 2;
    const bool inverse = !real && planner.graph().integer(op, 0) != 0;
    const std::vector<int64_t> in = planner.operand(input).shape;
    const std::vector<int64_t> out = planner.result().shape;
    const std::vector<uint32_t> rows = {planner.temporary(ElementType::kFloat32, out),
                                        planner.temporary(ElementType::kFloat32, out)};
    const auto begin = [&](const std::vector<uint32_t>& made, bool reads_real, int64_t n,
                           int64_t inner, int64_t frequencies) -> Group& {
        Group& group = planner.begin("fft", made);
        group.specialization = {{kRealId, reads_real ? 1U : 0U}, {kInverseId, inverse ? 1U : 0U}};
        group.push[4] = add_angles(planner, n);
        group.push[5] = static_cast<int32_t>(n);
        group.push[6] = static_cast<int32_t>(inner);
        group.push[7] = static_cast<int32_t>(frequencies);
        return group;
    };
    Group& first = begin(rows, real, in[2], 1, out[2]);
    planner.read(first, input, 2, kRealBufferId);
    if (!real) planner.read(first, input + 1, 3, kImaginaryBufferId);
    for (const uint32_t tensor : rows) planner.need(tensor);
    Group& second = begin(op.results, false, in[1], out[2], out[1]);
    planner.read_tensor(second, rows[0], 2, kRealBufferId);
    planner.read_tensor(second, rows[1], 3, kImaginaryBufferId);
}

}  // namespace arm_runtime::vgf
