#include "operands.hpp"

#include <algorithm>

#include "../shape_text.hpp"

namespace arm_runtime::vgf {

void require(bool holds, const std::string& problem) {
    if (!holds) throw Error(problem);
}

size_t Operands::index(std::string_view name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    require(found != names_.end(), "no operand is called " + std::string(name));
    return static_cast<size_t>(found - names_.begin());
}

const Tensor& Operands::operator[](std::string_view name) const {
    return graph_.operand(op_, index(name));
}

const Shape& Operands::shape(std::string_view name, size_t rank) const {
    const Shape& found = shape(name);
    require(found.size() == rank, std::string(name) + " must have rank " + std::to_string(rank) +
                                      ", and has shape " + shape_text(found));
    return found;
}

Shape Operands::integers(std::string_view name) const { return graph_.integers(op_, index(name)); }

size_t Operands::axis(std::string_view of) const {
    const int64_t axis = integer("axis");
    const Shape& shape = this->shape(of);
    require(axis >= 0 && axis < static_cast<int64_t>(shape.size()),
            "axis " + std::to_string(axis) + " is outside of " + shape_text(shape));
    return static_cast<size_t>(axis);
}

std::vector<const Tensor*> Operands::from(std::string_view name) const {
    std::vector<const Tensor*> found;
    for (size_t i = index(name); i < op_.operands.size(); ++i) {
        found.push_back(&graph_.operand(op_, i));
    }
    return found;
}

int64_t product(const Shape& sizes) {
    int64_t all = 1;
    for (const int64_t size : sizes) {
        require(size >= 0 && !__builtin_mul_overflow(all, size, &all),
                "the product of " + shape_text(sizes) + " is out of range");
    }
    return all;
}

Shape broadcast(const Shape& a, const Shape& b) {
    bool fits = a.size() == b.size();
    Shape out = a;
    for (size_t i = 0; fits && i < a.size(); ++i) {
        fits = a[i] == b[i] || a[i] == 1 || b[i] == 1;
        out[i] = std::max(a[i], b[i]);
    }
    require(fits, "shapes " + shape_text(a) + " and " + shape_text(b) + " do not broadcast");
    return out;
}

int64_t steps(int64_t span, int64_t stride, const char* axis) {
    require(span >= 0, std::string("the kernel is larger than the padded ") + axis);
    require(span % stride == 0, "stride " + std::to_string(stride) +
                                    " does not divide the padded " + axis + " less the kernel, " +
                                    std::to_string(span));
    return span / stride + 1;
}

void check_range(const Shape& numbers, int64_t least, int64_t most, const char* name) {
    for (const int64_t number : numbers) {
        require(number >= least && number <= most, std::string(name) + " " + shape_text(numbers) +
                                                       " is not within " + std::to_string(least) +
                                                       " to " + std::to_string(most));
    }
}

}  // namespace arm_runtime::vgf
