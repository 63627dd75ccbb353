// What ELEMENTWISE is, whichever the family: a function of two elements, of rows that may be
// broadcast.
#pragma once

#include "output_stage.hpp"

namespace arm_runtime::ethosu {

/// As the families number them; U55 and U65 have those up to kShl.
enum class ElementwiseMode : uint32_t {
    kMul = 0,
    kAdd = 1,
    kSub = 2,
    kMin = 3,
    kMax = 4,
    kLrelu = 5,
    kAbs = 6,
    kClz = 7,
    kShr = 8,
    kShl = 9,
    kLsr = 10,
    kDiv = 11,
    kEqual = 16,
    kNotEqual = 17,
    kGreaterEqual = 18,
    kGreater = 19,
    kAnd = 33,
    kOr = 34,
    kXor = 35,
    kNot = 36,
    kAndNot = 42,
};

struct Operand {
    FeatureMap map;
    int64_t height = 1, width = 1, depth = 1;  ///< 1 where it is broadcast
    int32_t* rows = nullptr;                   ///< for each worker
};

struct Elementwise {
    /// One result from two operands of 33 bits at most. False where 64 bits overflow, and for a
    /// shift that is none.
    using Function = bool (*)(const Elementwise& e, int64_t x, int64_t y, int64_t& result);

    ElementwiseMode mode = ElementwiseMode::kMul;
    Function function = nullptr;
    Operand first, second;
    bool unary = false, swapped = false;
    bool scaled = false;  ///< by OFM_SCALE
    OutputStage output;
    Scale first_scale, second_scale;  ///< of operands
    int64_t* rows = nullptr;          ///< results, for each worker
};

/// Reads what is particular to a family, operands and output stage included.
bool read_elementwise_u55(Machine& m, uint32_t mode, Elementwise& e);
bool read_elementwise_u85(Machine& m, uint32_t mode, Elementwise& e);

/// The size of an operand for a result of that size: flags 1, 2 and 4 broadcast height, width and
/// depth.
void broadcast(uint32_t flags, int64_t height, int64_t width, int64_t depth, Operand& operand);

/// What the families have in common: all modes up to kShl, on operands that are scaled already.
bool compute(const Elementwise& e, int64_t x, int64_t y, int64_t& result);

}  // namespace arm_runtime::ethosu
