// Elementwise operators as steps of a program.
#pragma once

#include <cstdint>
#include <vector>

#include "../graph/graph.hpp"
#include "plan.hpp"
#include "program_builder.hpp"

namespace arm_runtime::vgf {

/// Whether a step, or a few, do what an operator does.
bool is_elementwise(uint32_t opcode);

/// The operands that are values; the others are attributes.
std::vector<size_t> value_operands(const Operator& op);

/// NAN_IGNORE of kernels/steps.h, or 0 where an operator passes NaNs on; `operand` is its nan_mode.
uint32_t nan_mode(const Graph& graph, const Operator& op, size_t operand);

bool is_float(ElementType type);
/// See Dispatch::tested_type.
const char* tested_type_of(ElementType type);
/// TYPE_... of kernels/steps.h.
uint32_t type_code(ElementType type);

/// What the steps of an operator are added to.
class StepSink {
  public:
    virtual ~StepSink() = default;
    virtual int add(const Step& step) = 0;
    /// Bytes of the constants' buffer; returns where they begin, a multiple of 16.
    virtual uint64_t add_constant(const void* data, size_t bytes) = 0;
};

/// Adds an operator's steps; `values` are those of its value operands. Returns its result's value.
int add_steps(StepSink& sink, const Graph& graph, const Operator& op,
              const std::vector<int>& values);

}  // namespace arm_runtime::vgf
