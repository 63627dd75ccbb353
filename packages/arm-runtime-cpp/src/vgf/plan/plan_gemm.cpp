// CONV2D on matrix units, on kernels/window_fp32.comp, or with MATMUL on kernels/gemm.comp;
// DEPTHWISE_CONV2D on kernels/depthwise.comp.
#include <spirv/unified1/TOSA.001000.1.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>

#include "anchors.hpp"
#include "candidates.hpp"
#include "elementwise.hpp"
#include "float_bits.hpp"
#include "lanes.hpp"
#include "matrix_gemm.hpp"
#include "matrix_window.hpp"
#include "packed_weights.hpp"
#include "window_fp32.hpp"

namespace arm_runtime::vgf {
namespace {

// Constants of kernels/gemm.comp.
constexpr uint32_t kTypeId = 20;
constexpr uint32_t kSplitId = 21;
constexpr uint32_t kRowsId = 22;
constexpr uint32_t kVectorId = 23;
constexpr uint32_t kABufferId = 24;
constexpr uint32_t kBBufferId = 25;
constexpr uint32_t kPointwiseId = 26;
constexpr uint32_t kBRowsId = 27;
constexpr uint32_t kHasBiasId = 28;
constexpr uint32_t kRaggedId = 29;
constexpr uint32_t kPartsId = 30;
constexpr uint32_t kSecondBufferId = 31;

constexpr uint32_t kMaxRows = 8;      // of a tile
constexpr uint32_t kMaxWideRows = 4;  // of int16 by int16, whose sums have two parts
constexpr uint32_t kMaxSplit = 32;
constexpr int64_t kThreads = 64;  // of a workgroup
/// Products of an int16 and an int8 whose sum certainly fits 32 bits: 511, in whole vectors.
constexpr int64_t kMaxWideTerms = 504;

/// Types of input and weights that the kernels here take.
bool are_fast_types(ElementType input, ElementType weights) {
    if (input == ElementType::kInt16) return weights == ElementType::kInt8;
    return input == weights && (input == ElementType::kInt8 || is_float(input));
}

/// Words that a thread reads of `bytes` at once.
uint32_t vector_of(int64_t bytes) { return bytes % 16 == 0 ? 4 : bytes % 8 == 0 ? 2 : 1; }

struct Tile {
    uint32_t rows;
    uint32_t split;
};

/// What a tile is chosen by: rows and columns (in fours) of the result, batches, and the steps of a
/// sum.
struct Product {
    int64_t m = 0;
    int64_t n4 = 0;
    int64_t batches = 1;
    int64_t steps = 0;
    uint32_t least_split = 1;       ///< threads that share a sum at least
    uint32_t most_rows = kMaxRows;  ///< of a tile
};

/// Threads that share a sum of int16 by int8, so that the part of each fits 32 bits. Of int16 by
/// int16, they have one part for each byte of the second.
uint32_t least_split(int64_t terms) {
    uint32_t split = 1;
    while ((terms + split - 1) / split > kMaxWideTerms) split *= 2;
    return split;
}

Tile tile_of(int64_t m, int64_t n4, int64_t steps, const DeviceTraits& device) {
    Tile tile{static_cast<uint32_t>(std::min<int64_t>(m, 4)), 1};
    if (tile.rows == 3) tile.rows = 4;
    const int64_t threads = (m + tile.rows - 1) / tile.rows * n4;
    tile.split = std::min(lanes_of(4 * threads, steps, 1, device), kMaxSplit);
    return tile;
}

/// Chooses a tile, and whether to use integer dot products.
void set_tile(Group& group, const DeviceTraits& device, ElementType type, const Product& product) {
    const auto& [m, n4, batches, steps, least, most_rows] = product;
    Tile tile = tile_of(m, n4 * batches, steps, device);
    const Candidate& chosen =
        choose_candidate(group, device, !is_float(type), {m, n4, batches, steps});
    tile.rows = scaled(tile.rows, chosen.rows, most_rows);
    const uint32_t needed = std::max(least, std::min(least_lanes(steps), kMaxSplit));
    tile.split = std::max(needed, scaled(tile.split, chosen.split, kMaxSplit));
    group.dot = type == ElementType::kInt8 && device.dot && chosen.dot &&
                device.wrong.count(label_of(group.kernel, true, "")) == 0;
    group.specialization.emplace_back(kSplitId, tile.split);
    group.specialization.emplace_back(kRowsId, tile.rows);
    const int64_t threads = (m + tile.rows - 1) / tile.rows * n4 * batches * tile.split;
    group.workgroups = static_cast<uint64_t>((threads + kThreads - 1) / kThreads);
    group.push[5] = int_of(m);
    group.push[6] = int_of(n4);
    group.push[24] = int_of(batches);
}

/// Strides, padding before and dilations of a 2D convolution, from the push constant `at` on.
void set_window(Group& group, size_t at, const Graph& graph, const Operator& op) {
    const auto pad = graph.integers(op, 0);
    const auto stride = graph.integers(op, 1);
    const auto dilation = graph.integers(op, 2);
    const int64_t numbers[] = {stride[0], stride[1], pad[0], pad[2], dilation[0], dilation[1]};
    for (size_t i = 0; i < std::size(numbers); ++i) group.push[at + i] = int_of(numbers[i]);
}

/// A bias for each of `count` filters, zeros up to `padded`: an int32, or the bits of a float. Of
/// int48, the low words of four, then their high words.
std::vector<int32_t> bias_words(const Tensor& bias, size_t count, size_t padded) {
    const bool wide = bias.type == ElementType::kInt48;
    std::vector<int32_t> out(wide ? 2 * padded : padded);
    for (size_t n = 0; n < count; ++n) {
        const size_t at = elements(bias) == 1 ? 0 : n;
        if (wide) {
            const size_t low = n / 4 * 8 + n % 4;
            std::memcpy(&out[low], &bias.data[at * sizeof(int64_t)], sizeof(int32_t));
            std::memcpy(&out[low + 4], &bias.data[at * sizeof(int64_t) + 4], sizeof(int32_t));
        } else if (bias.type == ElementType::kInt32) {
            std::memcpy(&out[n], &bias.data[at * sizeof(int32_t)], sizeof(int32_t));
        } else {
            out[n] = float_bits(bias, at);
        }
    }
    return out;
}

/// The same less the part of the zero point of an int8 input.
std::vector<int32_t> biases_of(const Tensor& bias, const Tensor& weights, int64_t input_zero,
                               size_t padded) {
    const auto filters = static_cast<size_t>(weights.shape[0]);
    std::vector<int32_t> out = bias_words(bias, filters, padded);
    if (input_zero == 0) return out;
    const size_t row = weights.data.size() / filters;
    for (size_t n = 0; n < filters; ++n) {
        int64_t sum = 0;
        for (size_t i = 0; i < row; ++i) sum += static_cast<int8_t>(weights.data[n * row + i]);
        out[n] = static_cast<int32_t>(out[n] - input_zero * sum);
    }
    return out;
}

/// Channels that the kernel reads, of a convolution that is given some.
int64_t padded_channels(int64_t channels) { return (channels + 3) / 4 * 4; }

bool fits_gemm(const Graph& graph, const Operator& op) {
    if (op.opcode != TOSACONV2D) return false;
    const Tensor& x = graph.operand(op, 5);
    const Tensor& w = graph.operand(op, 6);
    const int64_t filters = w.shape[0];
    const int64_t m = elements(graph.result(op)) / filters;
    const int64_t terms = w.shape[1] * w.shape[2] * padded_channels(w.shape[3]);
    return are_fast_types(x.type, w.type) && w.constant && graph.operand(op, 7).constant &&
           (filters % 4 == 0 || m == 1) && (is_float(x.type) || graph.integer(op, 9) == 0) &&
           (x.type != ElementType::kInt16 || terms <= kThreads * kMaxWideTerms);
}

/// The same numbers, in 16 bits.
Tensor widened(const Tensor& weights) {
    Tensor out = weights;
    out.type = ElementType::kInt16;
    out.data.resize(2 * weights.data.size());
    for (size_t i = 0; i < weights.data.size(); ++i) {
        const int byte = weights.data[i];
        const auto number = static_cast<int16_t>(byte < 128 ? byte : byte - 256);
        std::memcpy(&out.data[2 * i], &number, sizeof(number));
    }
    return out;
}

/// The same filters with zeros as further channels.
Tensor with_channels(const Tensor& weights, int64_t channels) {
    Tensor out = weights;
    const size_t from = static_cast<size_t>(weights.shape[3]) * size_of(weights.type);
    const size_t to = static_cast<size_t>(channels) * size_of(weights.type);
    out.shape[3] = channels;
    out.data.assign(weights.data.size() / from * to, 0);
    for (size_t i = 0; i < weights.data.size() / from; ++i) {
        std::memcpy(&out.data[i * to], &weights.data[i * from], from);
    }
    return out;
}

}  // namespace

bool reads_transposed(const Graph& graph, const Operator& reader, uint32_t tensor) {
    return fits_gemm(graph, reader) && reader.operands[5] == tensor &&
           graph.tensors[tensor].shape[3] % 4 != 0;
}

bool reads_concatenated(const Graph& graph, const Operator& reader, const Operator& concat) {
    if (!fits_gemm(graph, reader) || reader.operands[5] != concat.results[0]) return false;
    if (concat.operands.size() != 3 || graph.integer(concat, 0) != 3) return false;
    return graph.operand(concat, 1).shape[3] % 4 == 0 && graph.operand(concat, 2).shape[3] % 4 == 0;
}

bool plan_gemm(Planner& planner) {
    const Operator& op = planner.op();
    if (!fits_gemm(planner.graph(), op)) return false;
    const ElementType type = planner.operand(5).type;
    const auto element = static_cast<int64_t>(size_of(type));
    const int64_t given = planner.operand(5).shape[3];
    const int64_t channels = padded_channels(given);
    std::vector<uint32_t> parts{op.operands[5]};
    if (channels != given) {
        parts[0] = plan_padded_channels(planner, 5, channels);
    } else if (const Operator* const concat = planner.deferred(op.operands[5])) {
        parts.assign(concat->operands.begin() + 1, concat->operands.end());
        for (const uint32_t part : parts) planner.need(part);
    }
    const bool wide = type == ElementType::kInt16;
    Group& group = planner.begin("gemm");  // from here on, no tensor is added
    const Graph& graph = planner.graph();
    const Tensor& x = graph.tensors[parts[0]];
    group.tested_type = tested_type_of(type);
    const Tensor& given_weights = planner.operand(6);
    const Tensor w = with_channels(wide ? widened(given_weights) : given_weights, channels);
    const Tensor& y = planner.result();
    const int64_t filters = y.shape[3];
    const int64_t m = elements(y) / filters;
    const int64_t zero = type == ElementType::kInt8 ? graph.integer(op, 8) : 0;
    const auto pad = graph.integers(op, 0);
    const auto stride = graph.integers(op, 1);
    const int64_t taps = w.shape[1] * w.shape[2];
    const uint32_t vector = vector_of(std::gcd(channels, x.shape[3]) * element);
    const int64_t per_tap = channels * element / (int64_t{4} * vector);
    const int64_t n4 = (filters + 3) / 4;
    const bool pointwise = taps == 1 && stride[0] == 1 && stride[1] == 1 &&
                           std::all_of(pad.begin(), pad.end(), [](int64_t p) { return p == 0; });

    group.specialization = {{kVectorId, vector}, {kPointwiseId, pointwise ? 1U : 0U}};
    if (parts.size() > 1) group.specialization.emplace_back(kPartsId, parts.size());
    const auto padded = static_cast<size_t>(4 * n4);
    const auto dilation = graph.integers(op, 2);
    Windows windows{{w.shape[1], w.shape[2]},
                    {stride[0], stride[1]},
                    {dilation[0], dilation[1]},
                    {y.shape[1], y.shape[2]},
                    y.shape[0],
                    {}};
    for (const uint32_t part : parts) {
        windows.parts.push_back(graph.tensors[part].shape[3] * element);
    }
    const MatrixProduct product{m, filters, channels * taps * element, type};
    if (!set_matrix_gemm(planner, group, product, windows, w) &&
        !set_window_fp32(planner, group, product, windows, w)) {
        group.specialization.emplace_back(kTypeId, type_code(type));
        set_tile(group, planner.device(), type,
                 {m, n4, 1, per_tap * taps, wide ? least_split(channels * taps) : 1});
        const auto count = static_cast<size_t>(per_tap * taps);
        const auto weights = packed_weights(w, {size_t{4} * vector, count, padded});
        group.push[3] = int_of(static_cast<int64_t>(
            planner.add_constant(weights.data(), weights.size()) / (size_t{4} * vector)));
    }
    const auto unit = static_cast<uint32_t>(size_t{4} * vector / size_of(type));
    planner.read_tensor(group, parts[0], 2, kABufferId, unit);
    if (parts.size() > 1) planner.read_tensor(group, parts[1], 26, kSecondBufferId, unit);
    group.push[25] = int_of(x.shape[3] / unit);
    group.push[4] = int_of(static_cast<int64_t>(
        planner.add_constant(biases_of(planner.operand(7), w, zero, padded)) / 16));
    group.push[7] = int_of(per_tap);
    group.push[8] = int_of(taps);
    group.push[9] = int_of(w.shape[2]);
    group.push[10] = int_of(x.shape[1]);
    group.push[11] = int_of(x.shape[2]);
    group.push[12] = int_of(y.shape[1]);
    group.push[13] = int_of(y.shape[2]);
    set_window(group, 14, planner.graph(), op);
    group.push[20] = int_of((zero & 0xff) * 0x01010101);
    group.macs = static_cast<uint64_t>(elements(y) * given * taps);
    return true;
}

bool plan_matmul_gemm(Planner& planner) {
    const Graph& graph = planner.graph();
    const Operator& op = planner.op();
    const Tensor& a = planner.operand(0);
    const Tensor& b = planner.operand(1);
    const int64_t m = a.shape[1];
    const int64_t k = a.shape[2];
    const int64_t columns = b.shape[2];
    const bool integers = a.type == ElementType::kInt8;
    const bool wide = a.type == ElementType::kInt16;
    if (!integers && !wide && a.type != ElementType::kFloat32) return false;
    if (a.type != b.type || columns % 4 != 0) return false;
    if (wide &&
        (k > kThreads * kMaxWideTerms || graph.integer(op, 2) != 0 || graph.integer(op, 3) != 0)) {
        return false;
    }
    const bool ragged = k % (wide ? 2 : 4) != 0;  // rows of A do not begin at words
    if (ragged && !integers) return false;
    const auto element = static_cast<int64_t>(size_of(a.type));
    const uint32_t vector = ragged ? 2 : vector_of(k * element);
    const int64_t steps = (k * element + int64_t{4} * vector - 1) / (int64_t{4} * vector);
    Group& group = planner.begin("gemm");
    group.tested_type = tested_type_of(a.type);
    group.specialization = {
        {kTypeId, type_code(a.type)},  {kVectorId, vector}, {kPointwiseId, 1}, {kBRowsId, 1},
        {kRaggedId, ragged ? 1U : 0U}, {kHasBiasId, 0}};
    const uint32_t least = wide ? least_split(k) : 1;
    set_tile(group, planner.device(), a.type,
             {m, columns / 4, a.shape[0], steps, least, wide ? kMaxWideRows : kMaxRows});
    planner.read(group, 0, 2, kABufferId,
                 ragged ? 1 : static_cast<uint32_t>(size_t{4} * vector / size_of(a.type)));
    planner.read(group, 1, 3, kBBufferId, 4);
    group.push[7] = group.push[25] = int_of(steps);
    group.push[8] = 1;
    group.push[21] = int_of(k);
    group.macs = static_cast<uint64_t>(elements(planner.result()) * k);
    if (integers) {
        group.push[22] = int_of(graph.integer(op, 2));
        group.push[23] = int_of(graph.integer(op, 3));
    }
    return true;
}

bool plan_depthwise(Planner& planner) {
    const Graph& graph = planner.graph();
    const Operator& op = planner.op();
    if (op.opcode != TOSADEPTHWISE_CONV2D) return false;
    const Tensor& x = planner.operand(5);
    const Tensor& w = planner.operand(6);
    const Tensor& bias = planner.operand(7);
    const Tensor& y = planner.result();
    const int64_t channels = x.shape[3];
    if (!are_fast_types(x.type, w.type) || !w.constant || !bias.constant) return false;
    if (channels % 4 != 0 || w.shape[3] != 1) return false;
    // The kernel is a constant of the shader, whose loops over it are unrolled.
    constexpr int64_t kMaxTaps = 64;
    if (w.shape[0] * w.shape[1] > kMaxTaps) return false;
    if (!is_float(x.type) && graph.integer(op, 9) != 0) return false;

    Group& group = planner.begin("depthwise");
    group.tested_type = tested_type_of(x.type);
    group.specialization = {{kTypeId, type_code(x.type)},
                            {21, static_cast<uint32_t>(w.shape[0])},
                            {22, static_cast<uint32_t>(w.shape[1])}};
    planner.read(group, 5, 2, 23);
    group.push[3] = int_of(
        static_cast<int64_t>(planner.add_constant(w.data.data(), w.data.size()) / size_of(w.type)));
    const auto biases =
        bias_words(bias, static_cast<size_t>(channels), static_cast<size_t>(channels));
    group.push[4] = int_of(static_cast<int64_t>(planner.add_constant(biases) / 16));
    group.push[5] = int_of(x.shape[1]);
    group.push[6] = int_of(x.shape[2]);
    group.push[7] = int_of(channels / 4);
    group.push[8] = int_of(y.shape[1]);
    group.push[9] = int_of(y.shape[2]);
    set_window(group, 10, planner.graph(), op);
    group.push[16] = is_float(x.type) ? 0 : int_of(graph.integer(op, 8));
    group.macs = static_cast<uint64_t>(elements(y) * w.shape[0] * w.shape[1]);
    return true;
}

}  // namespace arm_runtime::vgf
