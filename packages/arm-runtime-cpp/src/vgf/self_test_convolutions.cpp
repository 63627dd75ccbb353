// Convolutions and a matrix product of integers, which floats hold exactly as well.
#include <spirv/unified1/TOSA.001000.1.h>

#include "self_test_writer.hpp"

namespace arm_runtime::vgf {
namespace {

using Shape = TestGraphWriter::Shape;
constexpr auto kI8 = ElementType::kInt8;
constexpr auto kI16 = ElementType::kInt16;
constexpr auto kI32 = ElementType::kInt32;

/// Of floats, numbers below `limit`: every sum fits the 8 bits that a bfloat16 has. Of int16, large
/// ones.
Numbers numbers_of(ElementType type, int64_t count, int64_t seed, int64_t limit) {
    Numbers out = some(count, seed);
    if (type == kI8) return out;
    for (int64_t& number : out) number = type == kI16 ? number * 257 : number % limit;
    return out;
}

/// What sums are added up in, and results of integers have.
ElementType sum_of(ElementType type) {
    return type == kI8 ? kI32 : type == kI16 ? ElementType::kInt48 : type;
}

/// The same as the attribute acc_type of TOSA: INT32, INT48, FP32.
int64_t code_of_sum(ElementType type) { return type == kI8 ? 1 : type == kI16 ? 4 : 3; }

/// The type of the weights that go with an input.
ElementType weights_of(ElementType type) { return type == kI16 ? kI8 : type; }

struct Sizes {
    int64_t filters = 8;
    int64_t channels = 8;
    int64_t side = 3;  ///< of the kernel, an odd number
    int64_t height = 5;
    int64_t width = 4;
};

/// Padded so that the result has as many pixels, of int8 with a zero point.
void add_convolution(TestGraphWriter& writer, ElementType type, const Sizes& sizes,
                     bool depthwise) {
    const auto& [filters, channels, side, height, width] = sizes;
    const int64_t taps = side * side;
    const int64_t zero = type == kI8 ? 3 : 0;
    const int64_t per_tap = depthwise ? 1 : channels;
    const Numbers x = numbers_of(type, height * width * channels, 1, 2);
    const Numbers w = numbers_of(weights_of(type), filters * taps * per_tap, 2, 3);
    Numbers bias = numbers_of(type, filters, 3, 4);
    if (type == kI16) {
        for (int64_t& number : bias) number *= int64_t{1} << 24;  // beyond 32 bits
    }
    Numbers wanted;
    for (int64_t at = 0; at < height * width * filters; ++at) {
        const int64_t filter = at % filters;
        int64_t sum = bias[static_cast<size_t>(filter)];
        for (int64_t i = 0; i < taps * per_tap; ++i) {
            const int64_t tap = i / per_tap;
            const int64_t row = at / filters / width + tap / side - side / 2;
            const int64_t column = at / filters % width + tap % side - side / 2;
            if (row < 0 || row >= height || column < 0 || column >= width) continue;
            const int64_t channel = depthwise ? filter : i % per_tap;
            const int64_t weight = depthwise ? tap * filters + filter : filter * taps * per_tap + i;
            sum += (x[static_cast<size_t>((row * width + column) * channels + channel)] - zero) *
                   w[static_cast<size_t>(weight)];
        }
        wanted.push_back(sum);
    }
    const int64_t pad = side / 2;
    std::vector<uint32_t> operands = {writer.numbers({pad, pad, pad, pad}), writer.numbers({1, 1}),
                                      writer.numbers({1, 1}),
                                      writer.constant(kI32, {}, {code_of_sum(type)}),
                                      writer.constant(ElementType::kBool, {}, {0})};
    operands.push_back(writer.input(type, {1, height, width, channels}, x));
    const Shape shape =
        depthwise ? Shape{side, side, filters, 1} : Shape{filters, side, side, channels};
    operands.push_back(writer.constant(weights_of(type), shape, w));
    operands.push_back(writer.constant(sum_of(type), {filters}, bias));
    operands.push_back(writer.constant(type, {1}, {zero}));
    operands.push_back(writer.constant(weights_of(type), {1}, {0}));
    writer.output(writer.add(depthwise ? TOSADEPTHWISE_CONV2D : TOSACONV2D, operands, sum_of(type),
                             {1, height, width, filters}),
                  wanted);
}

/// Of a stride that no power of two is, and with the first row and column cut off: where a result
/// lies before all that an input reaches, the kernel divides negative numbers.
void add_transposed(TestGraphWriter& writer, ElementType type) {
    constexpr int64_t kHeight = 2, kWidth = 5, kChannels = 4, kFilters = 5, kSide = 3, kStride = 3;
    constexpr int64_t kOutHeight = (kHeight - 1) * kStride + kSide - 2;
    constexpr int64_t kOutWidth = (kWidth - 1) * kStride + kSide - 2;
    const Numbers x = numbers_of(type, kHeight * kWidth * kChannels, 6, 2);
    const Numbers w = numbers_of(weights_of(type), kFilters * kSide * kSide * kChannels, 7, 3);
    const Numbers bias = numbers_of(type, kFilters, 8, 4);
    Numbers wanted;
    for (int64_t at = 0; at < kOutHeight * kOutWidth; ++at) {
        wanted.insert(wanted.end(), bias.begin(), bias.end());
    }
    for (int64_t i = 0; i < kHeight * kWidth * kSide * kSide; ++i) {
        const int64_t pixel = i / (kSide * kSide);
        const int64_t tap = i % (kSide * kSide);
        const int64_t row = pixel / kWidth * kStride + tap / kSide - 1;
        const int64_t column = pixel % kWidth * kStride + tap % kSide - 1;
        if (row < 0 || row >= kOutHeight || column < 0 || column >= kOutWidth) continue;
        for (int64_t j = 0; j < kFilters * kChannels; ++j) {
            const int64_t filter = j / kChannels;
            const int64_t weight = (filter * kSide * kSide + tap) * kChannels + j % kChannels;
            wanted[static_cast<size_t>((row * kOutWidth + column) * kFilters + filter)] +=
                x[static_cast<size_t>(pixel * kChannels + j % kChannels)] *
                w[static_cast<size_t>(weight)];
        }
    }
    const std::vector<uint32_t> operands = {
        writer.numbers({-1, -1, -1, -1}),
        writer.numbers({kStride, kStride}),
        writer.constant(kI32, {}, {code_of_sum(type)}),
        writer.constant(ElementType::kBool, {}, {0}),
        writer.input(type, {1, kHeight, kWidth, kChannels}, x),
        writer.constant(weights_of(type), {kFilters, kSide, kSide, kChannels}, w),
        writer.constant(sum_of(type), {kFilters}, bias),
        writer.constant(type, {1}, {0}),
        writer.constant(weights_of(type), {1}, {0})};
    writer.output(writer.add(TOSATRANSPOSE_CONV2D, operands, sum_of(type),
                             {1, kOutHeight, kOutWidth, kFilters}),
                  wanted);
}

/// Of two batches.
void add_product(TestGraphWriter& writer, ElementType type) {
    constexpr int64_t kBatches = 2, kRows = 3, kTerms = 16, kColumns = 8;
    const Numbers a = numbers_of(type, kBatches * kRows * kTerms, 4, 4);
    const Numbers b = numbers_of(type, kBatches * kTerms * kColumns, 5, 5);
    Numbers wanted;
    for (int64_t at = 0; at < kBatches * kRows * kColumns; ++at) {
        const int64_t row = at / kColumns;
        int64_t sum = 0;
        for (int64_t i = 0; i < kTerms; ++i) {
            const int64_t other = (row / kRows * kTerms + i) * kColumns + at % kColumns;
            sum += a[static_cast<size_t>(row * kTerms + i)] * b[static_cast<size_t>(other)];
        }
        wanted.push_back(sum);
    }
    const uint32_t zero = writer.constant(type, {1}, {0});
    const std::vector<uint32_t> operands = {writer.input(type, {kBatches, kRows, kTerms}, a),
                                            writer.input(type, {kBatches, kTerms, kColumns}, b),
                                            zero, zero};
    writer.output(writer.add(TOSAMATMUL, operands, sum_of(type), {kBatches, kRows, kColumns}),
                  wanted);
}

}  // namespace

TestGraph test_convolution(ElementType type) {
    TestGraphWriter writer;
    add_convolution(writer, type, {5}, false);
    add_transposed(writer, type);
    return writer.done();
}

TestGraph test_depthwise(ElementType type) {
    TestGraphWriter writer;
    add_convolution(writer, type, {8}, true);
    return writer.done();
}

TestGraph test_gemm(ElementType type) {
    TestGraphWriter writer;
    add_convolution(writer, type, {8}, false);
    // Matrix products of other types have the kernel `convolution`.
    if (type == kI8 || type == kI16 || type == ElementType::kFloat32) add_product(writer, type);
    return writer.done();
}

TestGraph test_matrices(ElementType type) {
    TestGraphWriter writer;
    // Few steps along K, many in chunks, and channels that are read word by word.
    add_convolution(writer, type, {24}, false);
    add_convolution(writer, type, {40, 160, 1}, false);
    add_convolution(writer, type, {16, 12, 3}, false);
    return writer.done();
}

TestGraph test_windows(ElementType type) {
    TestGraphWriter writer;
    // As many pixels as a picture has that is large on every device; tiles end beyond its edges.
    add_convolution(writer, type, {24, 8, 3, 125, 91}, false);
    return writer.done();
}

}  // namespace arm_runtime::vgf
