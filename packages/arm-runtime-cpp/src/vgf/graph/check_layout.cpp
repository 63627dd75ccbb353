// TOSA 1.0, sections 2.8 to 2.11, and ARGMAX: reductions, layout, scatter and gather, images.
#include <algorithm>

#include "../shape_text.hpp"
#include "operands.hpp"

namespace arm_runtime::vgf {
namespace {

/// A constant operand that has `count` numbers.
Shape numbers(const Operands& in, const char* name, size_t count) {
    Shape found = in.integers(name);
    require(found.size() == count, std::string(name) + " must have " + std::to_string(count) +
                                       " numbers, and has " + std::to_string(found.size()));
    return found;
}

constexpr int64_t kMaxInt32 = 0x7FFFFFFF;

}  // namespace

Shapes check_argmax(const Operands& in) {
    Shape shape = in.shape("input");
    shape.erase(shape.begin() + static_cast<ptrdiff_t>(in.axis("input")));
    return {shape};
}

Shapes check_reduce(const Operands& in) {
    Shape shape = in.shape("input");
    shape[in.axis("input")] = 1;
    return {shape};
}

Shapes check_concat(const Operands& in) {
    const size_t axis = in.axis("input1");
    const std::vector<const Tensor*> parts = in.from("input1");
    Shape whole = parts[0]->shape;
    whole[axis] = 0;
    for (const Tensor* part : parts) {
        Shape rest = part->shape;
        if (axis < rest.size()) {
            whole[axis] += rest[axis];
            rest[axis] = whole[axis];
        }
        require(rest == whole, "operands " + shape_text(parts[0]->shape) + " and " +
                                   shape_text(part->shape) + " differ beside axis " +
                                   std::to_string(axis));
        require(part->type == parts[0]->type, "operands have different types");
    }
    return {whole};
}

Shapes check_pad(const Operands& in) {
    Shape shape = in.shape("input1");
    const Shape padding = numbers(in, "padding", 2 * shape.size());
    check_range(padding, 0, kMaxInt32, "padding");
    for (size_t i = 0; i < shape.size(); ++i) shape[i] += padding[2 * i] + padding[2 * i + 1];
    return {shape};
}

Shapes check_reshape(const Operands& in) {
    const Shape shape = in.integers("shape");
    check_range(shape, 1, kMaxInt32, "shape");
    const Shape& from = in.shape("input1");
    require(product(shape) == product(from),
            shape_text(from) + " has not as many elements as shape " + shape_text(shape));
    return {shape};
}

Shapes check_reverse(const Operands& in) {
    in.axis("input1");
    return {in.shape("input1")};
}

Shapes check_slice(const Operands& in) {
    const Shape& shape = in.shape("input1");
    const Shape start = numbers(in, "start", shape.size());
    const Shape size = numbers(in, "size", shape.size());
    for (size_t i = 0; i < shape.size(); ++i) {
        require(start[i] >= 0 && size[i] >= 1 && start[i] + size[i] <= shape[i],
                "start " + shape_text(start) + " and size " + shape_text(size) +
                    " are outside of " + shape_text(shape));
    }
    return {size};
}

Shapes check_tile(const Operands& in) {
    Shape shape = in.shape("input1");
    const Shape multiples = numbers(in, "multiples", shape.size());
    check_range(multiples, 1, kMaxInt32, "multiples");
    for (size_t i = 0; i < shape.size(); ++i) shape[i] = product({shape[i], multiples[i]});
    return {shape};
}

Shapes check_transpose(const Operands& in) {
    const Shape& from = in.shape("input1");
    const Shape perms = numbers(in, "perms", from.size());
    Shape shape;
    for (size_t i = 0; i < perms.size(); ++i) {
        require(std::count(perms.begin(), perms.end(), static_cast<int64_t>(i)) == 1,
                "perms " + shape_text(perms) + " is no permutation");
    }
    for (const int64_t axis : perms) shape.push_back(from[static_cast<size_t>(axis)]);
    return {shape};
}

Shapes check_gather(const Operands& in) {
    const Shape& values = in.shape("values", 3);
    const Shape& indices = in.shape("indices", 2);
    require(values[0] == indices[0], "values " + shape_text(values) + " and indices " +
                                         shape_text(indices) + " have different batches");
    return {{values[0], indices[1], values[2]}};
}

Shapes check_scatter(const Operands& in) {
    const Shape& values = in.shape("values_in", 3);
    const Shape& indices = in.shape("indices", 2);
    const Shape& input = in.shape("input", 3);
    require(indices[0] == values[0] && input == Shape{values[0], indices[1], values[2]},
            "values_in " + shape_text(values) + ", indices " + shape_text(indices) + " and input " +
                shape_text(input) + " do not belong together");
    require(values[1] >= indices[1], std::to_string(indices[1]) + " rows are written to " +
                                         std::to_string(values[1]) +
                                         ": some would be written twice");
    return {values};
}

Shapes check_resize(const Operands& in) {
    constexpr int64_t kMaxSize = 16383, kMaxNumerator = 1 << 11, kMaxScale = 256;
    const Shape& x = in.shape("input", 4);
    const Shape scale = in.integers("scale");
    const Shape offset = in.integers("offset");
    const Shape border = in.integers("border");
    Shape shape = x;
    for (size_t i = 0; i < 2; ++i) {
        const char* const axis = i == 0 ? "height" : "width";
        const int64_t up = scale[2 * i], down = scale[2 * i + 1];
        check_range({up}, 1, kMaxNumerator, "scale's numerator");
        check_range({down}, 1, 16 * up - 1, "scale's denominator");
        require(up <= kMaxScale * down, "scale is more than " + std::to_string(kMaxScale));
        check_range({offset[i]}, -up, 16 * up - 1, "offset");
        check_range({border[i]}, -16 * up, up - 1, "border");
        check_range({x[i + 1]}, 1, kMaxSize, axis);
        const int64_t span = (x[i + 1] - 1) * up - offset[i] + border[i];
        require(span >= 0 && span % down == 0, std::string(axis) + ": " + std::to_string(span) +
                                                   " is no multiple of scale's denominator " +
                                                   std::to_string(down));
        shape[i + 1] = span / down + 1;
        check_range({shape[i + 1]}, 1, kMaxSize, axis);
    }
    const bool bilinear = in.integer("mode") == 2;
    const ElementType from = in.type("input");
    const bool widens = bilinear && (from == ElementType::kInt8 || from == ElementType::kInt16);
    require((in.result_type() != from) == widens,
            std::string(bilinear ? "BILINEAR" : "NEAREST_NEIGHBOR") + " from " + name_of(from) +
                " to " + name_of(in.result_type()));
    return {shape};
}

}  // namespace arm_runtime::vgf
