
#include <spirv/unified1/TOSA.001000.1.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "self_test_writer.hpp"

namespace arm_runtime::vgf {
namespace {

using Shape = TestGraphWriter::Shape;
constexpr auto kI8 = ElementType::kInt8;
constexpr auto kI32 = ElementType::kInt32;
constexpr auto kF32 = ElementType::kFloat32;

Bytes bytes_of(const std::vector<float>& numbers) {
    Bytes out(numbers.size() * sizeof(float));
    std::memcpy(out.data(), numbers.data(), out.size());
    return out;
}

TestGraph elementwise() {
    TestGraphWriter writer;
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
    TestGraphWriter writer;
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
    TestGraphWriter writer;
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
    TestGraphWriter writer;
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
    TestGraphWriter writer;
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
    TestGraphWriter writer;
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
    TestGraphWriter writer;
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
    TestGraphWriter writer;
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
    TestGraphWriter writer;
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
    TestGraphWriter writer;
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

TestGraph convolution() { return test_convolution(kI8); }
TestGraph depthwise() { return test_depthwise(kI8); }
TestGraph gemm() { return test_gemm(kI8); }
TestGraph matrix_fp16() { return test_matrices(ElementType::kFloat16); }
TestGraph matrix_int8() { return test_matrices(kI8); }
TestGraph matrix_window_fp16() { return test_windows(ElementType::kFloat16); }
TestGraph matrix_window_int8() { return test_windows(kI8); }
TestGraph window_fp32() { return test_windows(ElementType::kFloat32); }

struct Row {
    const char* kernel = "";
    TestGraph (*make)() = nullptr;
    TestGraph (*make_of_type)(ElementType type) = nullptr;
};

constexpr Row kRows[] = {
    {"convolution", convolution, test_convolution},
    {"copy", copy},
    {"depthwise", depthwise, test_depthwise},
    {"elementwise", elementwise},
    {"fft", fft},
    {"gather", gather},
    {"gemm", gemm, test_gemm},
    {"matrix_fp16", matrix_fp16},
    {"matrix_int8", matrix_int8},
    {"matrix_window_fp16", matrix_window_fp16},
    {"matrix_window_int8", matrix_window_int8},
    {"pool", pool},
    {"reduce", reduce},
    {"resize", resize},
    {"row", row},
    {"scatter", scatter},
    {"transpose", transpose},
    {"window_fp32", window_fp32},
};

}  // namespace

TestGraph test_graph(const std::string& kernel, const std::string& tested_type) {
    for (const Row& row : kRows) {
        if (kernel != row.kernel) continue;
        if (tested_type.empty()) return row.make();
        for (const ElementType type : {ElementType::kInt16, ElementType::kFloat32,
                                       ElementType::kFloat16, ElementType::kBFloat16}) {
            if (row.make_of_type != nullptr && tested_type == name_of(type))
                return row.make_of_type(type);
        }
    }
    throw Error("the kernel '" + kernel + "'" + (tested_type.empty() ? "" : " of " + tested_type) +
                " has no self-test");
}

}  // namespace arm_runtime::vgf
