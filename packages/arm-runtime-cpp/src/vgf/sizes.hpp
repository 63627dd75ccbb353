// The sizes at which a program runs, and which of them a run's inputs have.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "arm_runtime/vgf.hpp"
#include "graph/sized_graph.hpp"
#include "program.hpp"

namespace arm_runtime::vgf {

/// All sizes of a program: each combination of its symbols' values has a number. The last is that
/// of the largest; a program whose sizes are fixed has one.
class Sizes {
  public:
    /// `graph`: of a program with symbols; else nullptr.
    ///
    /// Throws Error: more combinations than are planned, or no input says what a symbol is.
    Sizes(const Program& program, const SizedGraph* graph);

    size_t count() const { return output_shapes_.size(); }
    size_t largest() const { return count() - 1; }
    const std::vector<Symbol>& symbols() const { return symbols_; }

    /// The values of the symbols at the sizes of this number.
    std::vector<int64_t> values(size_t number) const;

    /// Inputs and outputs, at their largest.
    const std::vector<TensorInfo>& inputs() const { return inputs_; }
    const std::vector<TensorInfo>& outputs() const { return outputs_; }

    /// The number of the sizes that these inputs have, one for each of the program's. Allocates
    /// nothing. Throws Error: one does not fit, or they disagree on a symbol.
    size_t number_of(const Argument* inputs) const;
    /// The shapes of the outputs at the sizes of this number.
    const std::vector<std::vector<int64_t>>& output_shapes(size_t number) const {
        return output_shapes_[number];
    }

  private:
    static constexpr size_t kMaxSymbols = 32;  // more than a file may have
    using Expressions = std::vector<SizeExpression>;
    using Values = std::array<int64_t, kMaxSymbols>;

    size_t combinations() const;
    void check_symbols_are_said() const;
    std::string wanted(size_t input) const;
    /// Sets the value of a symbol, if a dimension is the first to say it; false: out of range.
    bool read(const SizeExpression& expression, int64_t size, Values& values) const;

    std::vector<Symbol> symbols_;
    std::vector<TensorInfo> inputs_;
    std::vector<TensorInfo> outputs_;
    std::vector<Expressions> input_shapes_;
    std::vector<std::vector<std::vector<int64_t>>> output_shapes_;  ///< by number
};

}  // namespace arm_runtime::vgf
