// TRANSPOSE, PAD, SLICE, TILE, REVERSE and CONCAT on kernels/copy.comp.
#include <spirv/unified1/TOSA.001000.1.h>

#include <algorithm>
#include <cstring>

#include "anchors.hpp"
#include "copy_shape.hpp"
#include "elementwise.hpp"

namespace arm_runtime::vgf {
namespace {

// Constants of kernels/copy.comp; of kernels/transpose.comp, the first is the type.
constexpr uint32_t kUnitId = 20;
constexpr uint32_t kRankId = 21;
constexpr uint32_t kPaddedId = 22;
constexpr uint32_t kRowsId = 23;
constexpr uint32_t kSourceBufferId = 24;
constexpr uint32_t kResultBufferId = 25;
constexpr uint32_t kAcrossId = 22;
constexpr uint32_t kVectorsId = 23;

constexpr int64_t kWord = 4;

/// The rows of a result that one operand fills, in elements.
struct Part {
    int64_t first;
    int64_t pitch;
    int64_t size;
    int64_t rows;
};

/// The largest unit, in bytes, that `divides` takes; of narrow elements the element.
template <typename Divides>
int64_t unit_of(int64_t element, Divides divides) {
    for (const int64_t unit : {16, 8, 4}) {
        if (unit >= element && divides(unit / element)) return unit;
    }
    return element;
}

/// A dispatch that copies `shape` of an operand to `part` of the result. A narrow part shares words
/// with its neighbours: what other dispatches wrote there stays.
Group& copy(Planner& planner, uint32_t source, uint32_t result, CopyShape shape, Part part,
            const std::vector<uint8_t>& padding) {
    Group& group = planner.begin("copy", {result});
    const Tensor& to = planner.graph().tensors[result];
    const auto element = static_cast<int64_t>(size_of(to.type));
    const int64_t unit = unit_of(element, [&](int64_t count) {
        return shape.divisible(count) && part.first % count == 0 && part.pitch % count == 0 &&
               part.size % count == 0;
    });
    const int64_t count = unit / element;
    shape.divide(count);
    part = {part.first / count, part.pitch / count, part.size / count, part.rows};
    const int64_t per_word = std::max<int64_t>(kWord / unit, 1);
    // Rows that are less than a word apart may share words: a thread for each word of them all.
    const bool apart = (part.pitch - part.size) * unit >= kWord - 1;
    const int64_t span = (part.rows - 1) * part.pitch + part.size;
    const int64_t thread_rows = apart || unit >= kWord ? part.rows : 1;
    const int64_t touched = thread_rows == 1 ? span : part.size;
    const int64_t words = unit >= kWord ? touched : (touched + per_word - 1) / per_word + 1;
    const bool gaps = part.rows > 1 && part.pitch != part.size;
    group.specialization = {{kUnitId, static_cast<uint32_t>(unit)},
                            {kRankId, static_cast<uint32_t>(shape.dims().size())},
                            {kPaddedId, shape.padded() ? 1U : 0U},
                            {kRowsId, gaps ? 1U : 0U}};
    planner.read_tensor(group, source, 2, kSourceBufferId, static_cast<uint32_t>(count));
    planner.write_tensor(group, result, 3, kResultBufferId,
                         static_cast<uint32_t>(count * per_word));
    if (unit < kWord && part.rows * part.size != elements(to)) group.reads.push_back(result);
    // The first part waits for those who used the memory before; the others know of it.
    group.apart = unit >= kWord && part.first != 0;
    const int64_t threads = thread_rows * words;
    group.push[4] = int_of(threads);
    group.push[5] = int_of(words);
    group.push[6] = int_of(part.first);
    group.push[7] = int_of(part.pitch);
    group.push[8] = int_of(part.size);
    group.push[9] = int_of(static_cast<int64_t>(planner.add_constant(shape.block()) / 16));
    group.push[10] = int_of(shape.offset());
    group.push[11] = int_of(span);
    if (!padding.empty()) {
        std::array<uint8_t, 16> pattern{};
        for (size_t i = 0; i < pattern.size(); ++i) pattern[i] = padding[i % padding.size()];
        std::memcpy(&group.push[12], pattern.data(), pattern.size());
    }
    group.push[16] = int_of(touched);
    group.workgroups = static_cast<uint64_t>((threads + 63) / 64);
    return group;
}

/// The least power of two that is as much, at most `most`.
int64_t power_for(int64_t count, int64_t most) {
    int64_t power = 1;
    while (power < std::min(count, most)) power *= 2;
    return power;
}

/// A TRANSPOSE whose innermost dimension is not the source's on kernels/transpose.comp; false: it
/// does not fit.
bool transpose(Planner& planner, size_t operand, const CopyShape& shape) {
    constexpr int64_t kLeast = 8;
    constexpr int64_t kThreads = 64;
    const uint32_t read = planner.op().operands[operand];
    const uint32_t source = planner.source_of(read);
    const ElementType type = planner.graph().tensors[source].type;
    const bool wide = type == ElementType::kInt48 || planner.result().type == ElementType::kInt48;
    const std::vector<CopyDim>& dims = shape.dims();
    size_t run = 0;
    while (run < dims.size() && dims[run].stride != 1) ++run;
    if (wide || run == 0 || run >= dims.size()) return false;
    const int64_t width = dims[0].size;
    const int64_t height = dims[run].size;
    if (width % 4 != 0 || width < kLeast || height < kLeast) return false;
    std::vector<int32_t> others;  // size, strides of source and result
    int64_t batches = 1;
    int64_t result_stride = 0;
    int64_t stride = 1;
    bool vectors = height % 4 == 0;
    for (size_t i = 0; i < dims.size(); ++i) {
        if (i == run) {
            result_stride = stride;
        } else {
            vectors = vectors && dims[i].stride % 4 == 0;
        }
        if (i != run && i != 0) {
            others.insert(others.end(),
                          {int_of(dims[i].size), int_of(dims[i].stride), int_of(stride), 0});
            batches *= dims[i].size;
        }
        stride *= dims[i].size;
    }
    // Threads side by side read neighbours, or write them.
    const int64_t quarter = (height + 3) / 4;
    int64_t across = power_for(width / 4, 8);
    const int64_t down = power_for(quarter, kThreads / across);
    across = kThreads / down;
    const int64_t columns = (width / 4 + across - 1) / across;
    const int64_t rows = (quarter + down - 1) / down;
    Group& group = planner.begin_behind("transpose", read, source);
    group.specialization = {{kUnitId, type_code(type)},
                            {kRankId, static_cast<uint32_t>(dims.size() - 2)},
                            {kAcrossId, static_cast<uint32_t>(across)},
                            {kVectorsId, vectors ? 1U : 0U}};
    planner.read_tensor(group, source, 2, kSourceBufferId);
    group.push[4] = int_of(columns);
    group.push[5] = int_of(rows);
    group.push[6] = int_of(width);
    group.push[7] = int_of(height);
    group.push[8] = int_of(dims[0].stride);
    group.push[9] = int_of(result_stride);
    group.push[10] = int_of(static_cast<int64_t>(planner.add_constant(others) / 16));
    group.push[11] = int_of(batches);
    group.workgroups = static_cast<uint64_t>(columns * rows * batches);
    return true;
}

}  // namespace

void plan_copy(Planner& planner) {
    const Graph& graph = planner.graph();
    const Operator& op = planner.op();
    const bool attribute_first = op.opcode == TOSATRANSPOSE || op.opcode == TOSAREVERSE;
    const size_t operand = attribute_first ? 1 : 0;
    const std::vector<int64_t>& in = planner.operand(operand).shape;
    const std::vector<int64_t> numbers = graph.integers(op, 1 - operand);
    const int64_t count = elements(planner.result());
    std::vector<uint8_t> padding;
    CopyShape shape;
    switch (op.opcode) {
        case TOSATRANSPOSE:
            shape = transposed(in, numbers);
            if (transpose(planner, operand, shape)) return;
            break;
        case TOSAREVERSE:
            shape = reversed(in, numbers[0]);
            break;
        case TOSASLICE:
            shape = sliced(in, numbers, planner.result().shape);
            break;
        case TOSATILE:
            shape = tiled(in, numbers);
            break;
        default:
            shape = padded(in, numbers);
            padding = planner.operand(2).data;
            break;
    }
    copy(planner, op.operands[operand], op.results[0], shape, {0, count, count, 1}, padding);
}

void plan_concat(Planner& planner) {
    const Graph& graph = planner.graph();
    const Operator& op = planner.op();
    const auto axis = static_cast<size_t>(graph.integer(op, 0));
    const std::vector<int64_t> out = planner.result().shape;
    int64_t rows = 1;
    for (size_t i = 0; i < axis; ++i) rows *= out[i];
    const int64_t pitch = elements(planner.result()) / rows;
    int64_t first = 0;
    for (size_t i = 1; i < op.operands.size(); ++i) {
        const int64_t size = elements(planner.operand(i)) / rows;
        copy(planner, op.operands[i], op.results[0], contiguous(rows * size),
             {first, pitch, size, rows}, {});
        first += size;
    }
}

void plan_copied_operand(Planner& planner, size_t operand) {
    const int64_t count = elements(planner.result());
    copy(planner, planner.op().operands[operand], planner.op().results[0], contiguous(count),
         {0, count, count, 1}, {});
}

uint32_t plan_padded_channels(Planner& planner, size_t operand, int64_t channels) {
    uint32_t source = planner.op().operands[operand];
    const ElementType type = planner.operand(operand).type;
    const std::vector<int64_t> shape = planner.operand(operand).shape;
    std::vector<int64_t> perms{0, 1, 2, 3};
    if (const Operator* const transpose = planner.deferred(source)) {
        perms = planner.graph().integers(*transpose, 0);
        source = transpose->operands[1];
        planner.need(source);
    }
    const std::vector<int64_t> from = planner.graph().tensors[source].shape;
    std::vector<int64_t> strides(4, 1);
    for (size_t i = 3; i-- > 0;) strides[i] = strides[i + 1] * from[i + 1];
    CopyShape copied;
    for (size_t i = 4; i-- > 0;) {
        copied.add(
            {i == 3 ? channels : shape[i], strides[static_cast<size_t>(perms[i])], 0, shape[i]});
    }
    const uint32_t padded = planner.temporary(type, {shape[0], shape[1], shape[2], channels});
    const int64_t count = shape[0] * shape[1] * shape[2] * channels;
    copy(planner, source, padded, copied, {0, count, count, 1}, {}).text = "PAD";
    return padded;
}

}  // namespace arm_runtime::vgf
