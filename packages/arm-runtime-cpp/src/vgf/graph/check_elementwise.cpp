// TOSA 1.0, sections 2.3 to 2.7 and 2.12: operators whose result has their operands' shape.
#include <cstring>

#include "../shape_text.hpp"
#include "operands.hpp"

namespace arm_runtime::vgf {
namespace {

/// A number that is ordered as the only element of a constant, which must not be NaN.
int64_t ordered(const Operands& in, std::string_view name) {
    const Tensor& tensor = in[name];
    uint32_t bits = 0;
    int64_t infinity = 0;
    switch (tensor.type) {
        case ElementType::kFloat16:
            infinity = 0x7C00;
            break;
        case ElementType::kBFloat16:
            infinity = 0x7F80;
            break;
        case ElementType::kFloat32:
            infinity = 0x7F800000;
            break;
        default:
            return in.integer(name);
    }
    std::memcpy(&bits, tensor.data.data(), size_of(tensor.type));
    const int64_t sign = int64_t{1} << (8 * size_of(tensor.type) - 1);
    const int64_t magnitude = bits & (sign - 1);
    require(magnitude <= infinity, std::string(name) + " is NaN");
    return (bits & sign) != 0 ? -magnitude : magnitude;
}

/// RESCALE's zero points: any of 8 bits; 0 or 32768 of unsigned 16 bits; else 0.
void check_zero_point(const Operands& in, const char* name, bool is_unsigned) {
    require(in.shape(name) == Shape{1},
            std::string(name) + " must have shape [1], and has " + shape_text(in.shape(name)));
    const ElementType type = in.type(name);
    const int64_t value = in.integer(name);
    require(type == ElementType::kInt8 || value == 0 ||
                (type == ElementType::kInt16 && is_unsigned && value == -32768),
            std::string(name) + " " + std::to_string(value) + " of " +
                (is_unsigned ? "unsigned " : "") + name_of(type));
}

bool is_short(ElementType type) {
    return type == ElementType::kInt8 || type == ElementType::kInt16;
}

}  // namespace

Shapes check_unary(const Operands& in) { return {in.shape("input")}; }

Shapes check_unary1(const Operands& in) { return {in.shape("input1")}; }

Shapes check_binary(const Operands& in) {
    return {broadcast(in.shape("input1"), in.shape("input2"))};
}

Shapes check_select(const Operands& in) {
    return {broadcast(broadcast(in.shape("input1"), in.shape("input2")), in.shape("input3"))};
}

Shapes check_clamp(const Operands& in) {
    require(ordered(in, "min_val") <= ordered(in, "max_val"), "min_val is more than max_val");
    return check_unary(in);
}

Shapes check_mul(const Operands& in) {
    const Tensor& shift = in["shift"];
    require(shift.type == ElementType::kInt8 && shift.shape == Shape{1}, "shift must be i8[1]");
    const bool shifts = in.type("input1") == ElementType::kInt32;
    check_range(in.integers("shift"), 0, shifts ? 63 : 0, "shift");
    return check_binary(in);
}

Shapes check_table(const Operands& in) {
    const Shape length{in.type("input1") == ElementType::kInt16 ? 513 : 256};
    require(in.shape("table") == length, "table must have shape " + shape_text(length) +
                                             ", and has " + shape_text(in.shape("table")));
    return check_unary1(in);
}

Shapes check_rescale(const Operands& in) {
    const Shape& x = in.shape("input");
    const ElementType from = in.type("input");
    const ElementType to = in.result_type();
    const bool scale32 = in.integer("scale32") != 0;
    const bool input_unsigned = in.integer("input_unsigned") != 0;
    const bool output_unsigned = in.integer("output_unsigned") != 0;

    const bool per_channel = in.integer("per_channel") != 0;
    require(!per_channel || !x.empty(), "per_channel of a scalar");
    const Shape channels{per_channel ? x.back() : 1};
    const Tensor& multiplier = in["multiplier"];
    const Tensor& shift = in["shift"];
    require(multiplier.type == (scale32 ? ElementType::kInt32 : ElementType::kInt16),
            std::string("multiplier of ") + name_of(multiplier.type) + " where scale32 is " +
                (scale32 ? "true" : "false"));
    require(shift.type == ElementType::kInt8, "shift must be of i8");
    require(multiplier.shape == channels && shift.shape == channels,
            "multiplier and shift must have shape " + shape_text(channels) + ", and have " +
                shape_text(multiplier.shape) + " and " + shape_text(shift.shape));
    for (const int64_t factor : in.integers("multiplier")) {
        require(factor >= 0, "multiplier " + std::to_string(factor) + " is negative");
    }
    for (const int64_t by : in.integers("shift")) {
        require(by >= 2 && by <= 62, "shift " + std::to_string(by) + " is not within 2 to 62");
    }

    require(!scale32 || from != ElementType::kInt48, "scale32 of i48");
    require(scale32 || in.integer("rounding_mode") != 3, "DOUBLE_ROUND needs scale32");
    require(!input_unsigned || !output_unsigned, "input and output are both unsigned");
    require((!input_unsigned && !output_unsigned) || (is_short(from) && is_short(to)),
            "only i8 and i16 may be unsigned");
    check_zero_point(in, "input_zp", input_unsigned);
    check_zero_point(in, "output_zp", output_unsigned);
    return check_unary(in);
}

}  // namespace arm_runtime::vgf
