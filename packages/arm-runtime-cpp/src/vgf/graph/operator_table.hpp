// The operators of the instruction set TOSA.001000.1 as data: add one by a row, and a function if
// it computes shapes as no other does.
#pragma once

#include "operands.hpp"

namespace arm_runtime::vgf {

/// An operator.
///
/// `operands` are words in the order of SPIRV-Headers' grammar, NAME or NAME:KIND. An operand
/// without a kind is any tensor. All others are constants:
///
///     scalar   one i32, not a tensor         flag     one bool, not a tensor
///     enumN    one i32 of 1 to N             acc      an accumulator's type, by its number
///     value    one number, not a tensor      const    a tensor
///     list     i32, rank 1                   intsN    i32, shape [N]
///     one      a tensor of shape [1]         zero     that, and 0 unless it is i8
///     other    a tensor of a type that `check` looks at
///
/// The last of the words may end in `*`: one or more.
///
/// `types` are signatures with a semicolon between them: the types of the operands that have no
/// kind or acc, value, const, one or zero, and of the results; of `*`, the first only. After `=`
/// comes a list of types instead, any of which may be all of them.
struct OperatorRow {
    const char* name;
    const char* operands;
    const char* types;
    Shapes (*check)(const Operands& in);
};

/// The row of an opcode. Throws Error if there is none.
const OperatorRow& operator_row(uint32_t opcode);

}  // namespace arm_runtime::vgf
