#include "self_test_graphs.hpp"

#include <spirv/unified1/TOSA.001000.1.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace arm_runtime::vgf {
namespace {

using Shape = std::vector<int64_t>;
using Numbers = std::vector<int64_t>;
constexpr auto kI8 = ElementType::kInt8;
constexpr auto kI32 = ElementType::kInt32;
constexpr auto kF32 = ElementType::kFloat32;

Bytes bytes_of(ElementType type, const Numbers& numbers) {
    const size_t size = size_of(type);
    Bytes out(numbers.size() * size);
    for (size_t i = 0; i < numbers.size(); ++i) std::memcpy(&out[i * size], &numbers[i], size);
    return out;
}

Bytes bytes_of(const std::vector<float>& numbers) {
    Bytes out(numbers.size() * sizeof(float));
    std::memcpy(out.data(), numbers.data(), out.size());
    return out;
}

/// Numbers from -127 to 127 in no order.
Numbers some(int64_t count, int64_t seed) {
    Numbers out;
    for (int64_t i = 0; i < count; ++i) out.push_back((i * i * 7 + i * 53 + seed * 31) % 255 - 127);
    return out;
}

class Writer {
  public:
    explicit Writer(const char* kernel) { test_.kernel = kernel; }

    uint32_t input(ElementType type, const Shape& shape, const Numbers& numbers) {
        return input(type, shape, bytes_of(type, numbers));
    }
    uint32_t input(ElementType type, const Shape& shape, Bytes data) {
        const uint32_t tensor = value(type, shape);
        test_.graph.inputs.push_back({tensor, resources_++});
        test_.inputs.push_back(std::move(data));
        return tensor;
    }
    uint32_t constant(ElementType type, const Shape& shape, const Numbers& numbers) {
        const uint32_t tensor = value(type, shape);
        test_.graph.tensors[tensor].constant = true;
        test_.graph.tensors[tensor].data = bytes_of(type, numbers);
        return tensor;
    }
    /// An attribute.
    uint32_t numbers(const Numbers& values) {
        return constant(kI32, {static_cast<int64_t>(values.size())}, values);
    }
    uint32_t add(uint32_t opcode, const std::vector<uint32_t>& operands, ElementType type,
                 const Shape& shape) {
        const uint32_t result = value(type, shape);
        test_.graph.operators.push_back({opcode, operands, {result}});
        return result;
    }
    /// A further result of the last operator.
    uint32_t add_result(ElementType type, const Shape& shape) {
        const uint32_t result = value(type, shape);
        test_.graph.operators.back().results.push_back(result);
        return result;
    }
    void output(uint32_t tensor, Bytes wanted) {
        test_.graph.outputs.push_back({tensor, resources_++});
        test_.outputs.push_back(std::move(wanted));
    }
    void output(uint32_t tensor, const Numbers& wanted) {
        output(tensor, bytes_of(test_.graph.tensors[tensor].type, wanted));
    }
    TestGraph done() { return std::move(test_); }

  private:
    uint32_t value(ElementType type, const Shape& shape) {
        test_.graph.tensors.push_back({type, shape, false, {}});
        return static_cast<uint32_t>(test_.graph.tensors.size() - 1);
    }

    TestGraph test_{};
    uint32_t resources_ = 0;
};

/// 3 x 3, padded by one, of int8 with a zero point.
TestGraph convolution(const char* kernel, int64_t filters, bool depthwise) {
    constexpr int64_t kHeight = 5, kWidth = 4, kChannels = 8, kTaps = 9, kZero = 3;
    const int64_t per_tap = depthwise ? 1 : kChannels;
    const Numbers x = some(kHeight * kWidth * kChannels, 1);
    const Numbers w = some(filters * kTaps * per_tap, 2);
    const Numbers bias = some(filters, 3);
    Numbers wanted;
    for (int64_t at = 0; at < kHeight * kWidth * filters; ++at) {
        const int64_t filter = at % filters;
        int64_t sum = bias[static_cast<size_t>(filter)];
        for (int64_t i = 0; i < kTaps * per_tap; ++i) {
            const int64_t tap = i / per_tap;
            const int64_t row = at / filters / kWidth + tap / 3 - 1;
            const int64_t column = at / filters % kWidth + tap % 3 - 1;
            if (row < 0 || row >= kHeight || column < 0 || column >= kWidth) continue;
            const int64_t channel = depthwise ? filter : i % per_tap;
            const int64_t weight =
                depthwise ? tap * filters + filter : filter * kTaps * per_tap + i;
            sum += (x[static_cast<size_t>((row * kWidth + column) * kChannels + channel)] - kZero) *
                   w[static_cast<size_t>(weight)];
        }
        wanted.push_back(sum);
    }
    Writer writer(kernel);
    std::vector<uint32_t> operands = {writer.numbers({1, 1, 1, 1}), writer.numbers({1, 1}),
                                      writer.numbers({1, 1}), writer.numbers({1}),
                                      writer.numbers({0})};
    operands.push_back(writer.input(kI8, {1, kHeight, kWidth, kChannels}, x));
    const Shape shape = depthwise ? Shape{3, 3, filters, 1} : Shape{filters, 3, 3, kChannels};
    operands.push_back(writer.constant(kI8, shape, w));
    operands.push_back(writer.constant(kI32, {filters}, bias));
    operands.push_back(writer.constant(kI8, {1}, {kZero}));
    operands.push_back(writer.constant(kI8, {1}, {0}));
    writer.output(writer.add(depthwise ? TOSADEPTHWISE_CONV2D : TOSACONV2D, operands, kI32,
                             {1, kHeight, kWidth, filters}),
                  wanted);
    return writer.done();
}

TestGraph gemm() { return convolution("gemm", 8, false); }
TestGraph general() { return convolution("convolution", 5, false); }
TestGraph depthwise() { return convolution("depthwise", 8, true); }

TestGraph elementwise() {
    Writer writer("elementwise");
    const Numbers x = some(40, 1);
    const Numbers y = some(40, 2);
    Numbers wanted;
    for (size_t i = 0; i < x.size(); ++i) wanted.push_back(x[i] + y[i]);
    const uint32_t a = writer.input(kI32, {40}, x);
    const uint32_t b = writer.input(kI32, {40}, y);
    writer.output(writer.add(TOSAADD, {a, b}, kI32, {40}), wanted);
    return writer.done();
}

TestGraph pool() {
    Writer writer("pool");
    const Numbers x = some(128, 1);
    Numbers wanted;
    for (size_t at = 0; at < 32; ++at) {
        const size_t first = (at / 16 * 2 * 4 + at / 8 % 2 * 2) * 8 + at % 8;
        wanted.push_back(std::max({x[first], x[first + 8], x[first + 32], x[first + 40]}));
    }
    const std::vector<uint32_t> operands = {writer.numbers({2, 2}), writer.numbers({2, 2}),
                                            writer.numbers({0, 0, 0, 0}), writer.numbers({1}),
                                            writer.input(kI8, {1, 4, 4, 8}, x)};
    writer.output(writer.add(TOSAMAX_POOL2D, operands, kI8, {1, 2, 2, 8}), wanted);
    return writer.done();
}

TestGraph reduce() {
    Writer writer("reduce");
    const Numbers x = some(48, 1);
    Numbers wanted;
    for (auto first = x.begin(); first != x.end(); first += 16) {
        wanted.push_back(std::accumulate(first, first + 16, int64_t{0}));
    }
    const uint32_t axis = writer.numbers({1});
    writer.output(writer.add(TOSAREDUCE_SUM, {axis, writer.input(kI32, {3, 16}, x)}, kI32, {3, 1}),
                  wanted);
    return writer.done();
}

TestGraph row() {
    Writer writer("row");
    const Numbers x = some(256, 1);
    Numbers wanted;
    for (size_t at = 0; at < x.size(); ++at) {
        const auto first = x.begin() + static_cast<std::ptrdiff_t>(at / 64 * 64);
        wanted.push_back(x[at] - *std::max_element(first, first + 64));
    }
    const uint32_t axis = writer.numbers({1});
    const uint32_t mode = writer.numbers({1});
    const uint32_t whole = writer.input(kI32, {4, 64}, x);
    const uint32_t most = writer.add(TOSAREDUCE_MAX, {axis, mode, whole}, kI32, {4, 1});
    writer.output(writer.add(TOSASUB, {whole, most}, kI32, {4, 64}), wanted);
    return writer.done();
}

TestGraph gather() {
    Writer writer("gather");
    const Numbers x = some(48, 1);
    const Numbers indices{5, 0, 3, 3};
    Numbers wanted;
    for (const int64_t index : indices) {
        wanted.insert(wanted.end(), x.begin() + 8 * index, x.begin() + 8 * (index + 1));
    }
    const uint32_t values = writer.input(kI32, {1, 6, 8}, x);
    const uint32_t places = writer.input(kI32, {1, 4}, indices);
    writer.output(writer.add(TOSAGATHER, {values, places}, kI32, {1, 4, 8}), wanted);
    return writer.done();
}

TestGraph scatter() {
    Writer writer("scatter");
    Numbers wanted = some(48, 1);
    const Numbers x = some(24, 2);
    const Numbers indices{4, 0, 2};
    const uint32_t values = writer.input(kI32, {1, 6, 8}, wanted);
    const uint32_t places = writer.input(kI32, {1, 3}, indices);
    const uint32_t rows = writer.input(kI32, {1, 3, 8}, x);
    for (size_t i = 0; i < x.size(); ++i) {
        wanted[static_cast<size_t>(8 * indices[i / 8]) + i % 8] = x[i];
    }
    writer.output(writer.add(TOSASCATTER, {values, places, rows}, kI32, {1, 6, 8}), wanted);
    return writer.done();
}

/// The nearest pixel, at twice the size: 0, 1, 1, 1 of 0 and 1.
TestGraph resize() {
    Writer writer("resize");
    const Numbers x = some(32, 1);
    Numbers wanted;
    for (size_t at = 0; at < 128; ++at) {
        const size_t row = at / 32 == 0 ? 0 : 1;
        const size_t column = at / 8 % 4 == 0 ? 0 : 1;
        wanted.push_back(x[(2 * row + column) * 8 + at % 8]);
    }
    const uint32_t mode = writer.numbers({1});
    const std::vector<uint32_t> operands = {mode, writer.input(kI8, {1, 2, 2, 8}, x),
                                            writer.numbers({2, 1, 2, 1}), writer.numbers({0, 0}),
                                            writer.numbers({1, 1})};
    writer.output(writer.add(TOSARESIZE, operands, kI8, {1, 4, 4, 8}), wanted);
    return writer.done();
}

TestGraph transpose() {
    Writer writer("transpose");
    const Numbers x = some(384, 1);
    Numbers wanted;
    for (size_t at = 0; at < x.size(); ++at) wanted.push_back(x[at % 16 * 24 + at / 16]);
    const uint32_t perms = writer.numbers({1, 0});
    writer.output(
        writer.add(TOSATRANSPOSE, {perms, writer.input(kI32, {16, 24}, x)}, kI32, {24, 16}),
        wanted);
    return writer.done();
}

TestGraph copy() {
    Writer writer("copy");
    const Numbers x = some(30, 1);
    Numbers wanted;
    for (size_t at = 0; at < x.size(); ++at) wanted.push_back(x[(4 - at / 6) * 6 + at % 6]);
    const uint32_t axis = writer.numbers({0});
    writer.output(writer.add(TOSAREVERSE, {axis, writer.input(kI32, {5, 6}, x)}, kI32, {5, 6}),
                  wanted);
    return writer.done();
}

TestGraph fft() {
    constexpr int64_t kRows = 4, kColumns = 8, kFrequencies = kColumns / 2 + 1;
    constexpr double kTurn = 6.283185307179586;
    Writer writer("fft");
    std::vector<float> x;
    for (const int64_t number : some(kRows * kColumns, 1)) {
        x.push_back(static_cast<float>(number) / 128);
    }
    std::vector<float> real;
    std::vector<float> imaginary;
    for (int64_t at = 0; at < kRows * kFrequencies; ++at) {
        double re = 0;
        double im = 0;
        for (int64_t i = 0; i < kRows * kColumns; ++i) {
            const int64_t row = i / kColumns * (at / kFrequencies);
            const int64_t column = i % kColumns * (at % kFrequencies);
            const double angle =
                kTurn * (static_cast<double>(row) / kRows + static_cast<double>(column) / kColumns);
            re += static_cast<double>(x[static_cast<size_t>(i)]) * std::cos(angle);
            im -= static_cast<double>(x[static_cast<size_t>(i)]) * std::sin(angle);
        }
        real.push_back(static_cast<float>(re));
        imaginary.push_back(static_cast<float>(im));
    }
    const uint32_t bound = writer.numbers({0});
    const uint32_t input = writer.input(kF32, {1, kRows, kColumns}, bytes_of(x));
    const Shape shape{1, kRows, kFrequencies};
    const uint32_t first = writer.add(TOSARFFT2D, {bound, input}, kF32, shape);
    const uint32_t second = writer.add_result(kF32, shape);
    writer.output(first, bytes_of(real));
    writer.output(second, bytes_of(imaginary));
    return writer.done();
}

struct Row {
    const char* kernel;
    TestGraph (*make)();
};

constexpr Row kRows[] = {
    {"convolution", general},
    {"copy", copy},
    {"depthwise", depthwise},
    {"elementwise", elementwise},
    {"fft", fft},
    {"gather", gather},
    {"gemm", gemm},
    {"pool", pool},
    {"reduce", reduce},
    {"resize", resize},
    {"row", row},
    {"scatter", scatter},
    {"transpose", transpose},
};

}  // namespace

TestGraph test_graph(const std::string& kernel) {
    for (const Row& row : kRows) {
        if (kernel == row.kernel) return row.make();
    }
    throw Error("the kernel '" + kernel + "' has no self-test");
}

}  // namespace arm_runtime::vgf
