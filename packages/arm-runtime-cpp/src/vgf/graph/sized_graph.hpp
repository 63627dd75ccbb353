// A graph whose sizes vary, at any of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph.hpp"
#include "size_expression.hpp"

namespace arm_runtime::vgf {

class SizedGraph {
  public:
    /// Of a program with symbols: compares its graph with the samples, which must have the same
    /// operators; sizes that differ become expressions. Nothing of the file is used afterwards.
    ///
    /// Throws Error: as read_graph does, or the graphs differ otherwise.
    explicit SizedGraph(const ParsedFile& file);

    /// The graph for a value of each symbol, until the next call; every operator that a symbol
    /// reaches has been checked again. Throws Error: TOSA has no such graph.
    Graph& at(const std::vector<int64_t>& values);

    /// The dimensions of a tensor that the graph takes or gives; null of another resource.
    const std::vector<SizeExpression>* shape(uint32_t resource) const {
        const auto found = shapes_.find(resource);
        return found == shapes_.end() ? nullptr : &found->second;
    }

  private:
    using Expressions = std::vector<SizeExpression>;

    struct Varying {
        uint32_t tensor;
        Expressions shape;
        Expressions numbers;       ///< of an attribute: its elements
        std::vector<uint8_t> all;  ///< of a constant of which a part is used: all of it
    };

    void compare(const std::vector<Graph>& samples);
    void compare_operands(const std::vector<Graph>& samples, size_t index,
                          std::vector<std::map<uint32_t, uint32_t>>& twins);
    /// Notes that a tensor varies, if it does.
    bool note(uint32_t tensor, const std::vector<const Tensor*>& all);
    Expressions fitted(const std::vector<std::vector<int64_t>>& numbers, const char* what) const;

    std::vector<Symbol> symbols_;
    std::vector<std::vector<int64_t>> points_;  ///< the bound first
    std::vector<int64_t> bound_;
    Graph graph_;
    std::vector<Varying> varying_;
    std::vector<size_t> affected_;  ///< operators
    std::map<uint32_t, Expressions> shapes_;
};

}  // namespace arm_runtime::vgf
