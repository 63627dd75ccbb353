// What the check of an operator sees: its operands by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph.hpp"

namespace arm_runtime::vgf {

using Shape = std::vector<int64_t>;
/// The shapes of an operator's results.
using Shapes = std::vector<Shape>;

/// Throws Error(problem) unless it holds.
void require(bool holds, const std::string& problem);

class Operands {
  public:
    /// `names`: of the operands that are given, in order.
    Operands(const Graph& graph, const Operator& op, std::vector<std::string_view> names)
        : graph_(graph), op_(op), names_(std::move(names)) {}

    const Tensor& operator[](std::string_view name) const;
    const Shape& shape(std::string_view name) const { return (*this)[name].shape; }
    /// The shape of an operand that must have this rank.
    const Shape& shape(std::string_view name, size_t rank) const;
    ElementType type(std::string_view name) const { return (*this)[name].type; }
    /// Of a constant operand.
    Shape integers(std::string_view name) const;
    int64_t integer(std::string_view name) const { return integers(name).at(0); }
    /// An attribute that names an axis of an operand.
    size_t axis(std::string_view of) const;
    /// Operands `name` and all after it.
    std::vector<const Tensor*> from(std::string_view name) const;
    ElementType result_type() const { return graph_.result(op_).type; }

  private:
    size_t index(std::string_view name) const;

    const Graph& graph_;
    const Operator& op_;
    std::vector<std::string_view> names_;
};

/// The product, which is not negative. Throws Error if it does not fit.
int64_t product(const Shape& sizes);

/// TOSA's broadcast: equal ranks, and sizes that are equal or 1.
Shape broadcast(const Shape& a, const Shape& b);

/// 1 + span / stride, which TOSA wants to be exact.
int64_t steps(int64_t span, int64_t stride, const char* axis);

/// Throws Error unless every number is within these bounds.
void check_range(const Shape& numbers, int64_t least, int64_t most, const char* name);

// MAX_KERNEL, and MAX_STRIDE, of TOSA level 8K.
constexpr int64_t kMaxKernel = 8192;

// check_convolution.cpp
Shapes check_convolution_2d(const Operands& in);
Shapes check_convolution_3d(const Operands& in);
Shapes check_depthwise(const Operands& in);
Shapes check_transpose_convolution(const Operands& in);
Shapes check_matmul(const Operands& in);
Shapes check_pool(const Operands& in);
Shapes check_fft(const Operands& in);
Shapes check_rfft(const Operands& in);

// check_elementwise.cpp
Shapes check_unary(const Operands& in);   ///< of "input"
Shapes check_unary1(const Operands& in);  ///< of "input1", as the grammar calls some
Shapes check_binary(const Operands& in);
Shapes check_select(const Operands& in);
Shapes check_clamp(const Operands& in);
Shapes check_mul(const Operands& in);
Shapes check_table(const Operands& in);
Shapes check_rescale(const Operands& in);

// check_layout.cpp
Shapes check_argmax(const Operands& in);
Shapes check_reduce(const Operands& in);
Shapes check_concat(const Operands& in);
Shapes check_pad(const Operands& in);
Shapes check_reshape(const Operands& in);
Shapes check_reverse(const Operands& in);
Shapes check_slice(const Operands& in);
Shapes check_tile(const Operands& in);
Shapes check_transpose(const Operands& in);
Shapes check_gather(const Operands& in);
Shapes check_scatter(const Operands& in);
Shapes check_resize(const Operands& in);

}  // namespace arm_runtime::vgf
