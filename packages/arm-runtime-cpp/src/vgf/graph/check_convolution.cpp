// TOSA 1.0, section 2.2: convolutions, pooling, matrix products, Fourier transforms.
#include <algorithm>

#include "../shape_text.hpp"
#include "operands.hpp"

namespace arm_runtime::vgf {
namespace {

constexpr const char* kAxes[] = {"depth", "height", "width"};

void check_bias(const Shape& bias, int64_t channels) {
    require(bias.size() == 1 && (bias[0] == 1 || bias[0] == channels),
            "bias must have shape [1] or [" + std::to_string(channels) + "], and has " +
                shape_text(bias));
}

/// A convolution over the axes between the first and the last.
Shapes convolved(const Operands& in, const Shape& kernel, int64_t channels_in,
                 int64_t channels_out) {
    const Shape& x = in.shape("input", kernel.size() + 2);
    const Shape pad = in.integers("pad");
    const Shape stride = in.integers("stride");
    const Shape dilation = in.integers("dilation");
    check_range(pad, 0, kMaxKernel, "pad");
    check_range(stride, 1, kMaxKernel, "stride");
    check_range(dilation, 1, kMaxKernel, "dilation");
    check_range(kernel, 1, kMaxKernel, "kernel");
    require(x.back() == channels_in, "input has " + std::to_string(x.back()) +
                                         " channels, and weight takes " +
                                         std::to_string(channels_in));
    check_bias(in.shape("bias"), channels_out);
    Shape result{x[0]};
    for (size_t i = 0; i < kernel.size(); ++i) {
        const char* const axis = kAxes[3 - kernel.size() + i];
        require(kernel[i] * dilation[i] <= kMaxKernel, std::string("the dilated kernel's ") + axis +
                                                           " is more than " +
                                                           std::to_string(kMaxKernel));
        const int64_t padded = x[i + 1] - 1 + pad[2 * i] + pad[2 * i + 1];
        result.push_back(steps(padded - (kernel[i] - 1) * dilation[i], stride[i], axis));
    }
    result.push_back(channels_out);
    return {result};
}

Shapes convolution(const Operands& in, size_t spatial) {
    const Shape& weight = in.shape("weight", spatial + 2);
    return convolved(in, {weight.begin() + 1, weight.end() - 1}, weight.back(), weight[0]);
}

/// A batch of images whose height and width are powers of two.
const Shape& fft_shape(const Operands& in) {
    const Shape& x = in.shape("input_real", 3);
    for (size_t i = 1; i < 3; ++i) {
        require((x[i] & (x[i] - 1)) == 0 && x[i] <= kMaxKernel,
                std::string(kAxes[i]) + " " + std::to_string(x[i]) + " is no power of two up to " +
                    std::to_string(kMaxKernel));
    }
    return x;
}

}  // namespace

Shapes check_convolution_2d(const Operands& in) { return convolution(in, 2); }

Shapes check_convolution_3d(const Operands& in) { return convolution(in, 3); }

Shapes check_depthwise(const Operands& in) {
    const Shape& weight = in.shape("weight", 4);  // height, width, channels, multiplier
    return convolved(in, {weight[0], weight[1]}, weight[2], weight[2] * weight[3]);
}

Shapes check_transpose_convolution(const Operands& in) {
    const Shape& x = in.shape("input", 4);
    const Shape& weight = in.shape("weight", 4);
    const Shape pad = in.integers("out_pad");
    const Shape stride = in.integers("stride");
    const Shape kernel{weight[1], weight[2]};
    check_range(kernel, 1, kMaxKernel, "kernel");
    check_range(stride, 1, kMaxKernel, "stride");
    require(x[3] == weight[3], "input has " + std::to_string(x[3]) +
                                   " channels, and weight takes " + std::to_string(weight[3]));
    check_bias(in.shape("bias"), weight[0]);
    Shape result{x[0]};
    for (size_t i = 0; i < 2; ++i) {
        check_range({pad[2 * i], pad[2 * i + 1]}, 1 - kernel[i], kMaxKernel, "out_pad");
        result.push_back((x[i + 1] - 1) * stride[i] + pad[2 * i] + pad[2 * i + 1] + kernel[i]);
    }
    result.push_back(weight[0]);
    return {result};
}

Shapes check_matmul(const Operands& in) {
    const Shape& a = in.shape("A", 3);
    const Shape& b = in.shape("B", 3);
    require(a[0] == b[0] && a[2] == b[1],
            "A " + shape_text(a) + " and B " + shape_text(b) + " do not multiply");
    return {{a[0], a[1], b[2]}};
}

Shapes check_pool(const Operands& in) {
    const Shape& x = in.shape("input", 4);
    const Shape kernel = in.integers("kernel");
    const Shape stride = in.integers("stride");
    const Shape pad = in.integers("pad");
    check_range(kernel, 1, kMaxKernel, "kernel");
    check_range(stride, 1, kMaxKernel, "stride");
    Shape result{x[0]};
    for (size_t i = 0; i < 2; ++i) {
        const Shape around{pad[2 * i], pad[2 * i + 1]};
        check_range(around, 0, kernel[i] - 1, "pad");
        result.push_back(
            steps(x[i + 1] + around[0] + around[1] - kernel[i], stride[i], kAxes[i + 1]));
    }
    result.push_back(x[3]);
    return {result};
}

Shapes check_fft(const Operands& in) {
    const Shape& real = fft_shape(in);
    require(in.shape("input_imag") == real, "input_real " + shape_text(real) + " and input_imag " +
                                                shape_text(in.shape("input_imag")) + " differ");
    return {real, real};
}

Shapes check_rfft(const Operands& in) {
    const Shape& real = fft_shape(in);
    const Shape result{real[0], real[1], real[2] / 2 + 1};
    return {result, result};
}

}  // namespace arm_runtime::vgf
