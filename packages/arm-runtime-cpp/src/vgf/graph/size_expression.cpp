#include "size_expression.hpp"

#include <algorithm>

namespace arm_runtime::vgf {
namespace {

int64_t product(uint32_t symbols, const int64_t* values) {
    int64_t out = 1;
    for (size_t i = 0; symbols >> i != 0; ++i) {
        if ((symbols >> i & 1) == 0) continue;
        if (__builtin_mul_overflow(out, values[i], &out)) throw Error("a size is out of range");
    }
    return out;
}

}  // namespace

int64_t SizeExpression::at(const int64_t* values) const {
    if (symbols == 0) return offset;
    int64_t out = product(symbols, values);
    if (__builtin_mul_overflow(out, factor, &out) || __builtin_add_overflow(out, offset, &out)) {
        throw Error("a size is out of range");
    }
    return out;
}

std::string SizeExpression::text(const std::vector<Symbol>& names) const {
    if (symbols == 0) return std::to_string(offset);
    std::string out = factor == 1 ? "" : std::to_string(factor);
    for (size_t i = 0; i < names.size(); ++i) {
        if ((symbols >> i & 1) != 0) out += (out.empty() ? "" : "*") + names[i].name;
    }
    if (offset != 0) out += (offset > 0 ? "+" : "") + std::to_string(offset);
    return out;
}

std::optional<SizeExpression> fit(const std::vector<std::vector<int64_t>>& points,
                                  const std::vector<int64_t>& numbers) {
    const bool same = std::all_of(numbers.begin(), numbers.end(),
                                  [&](int64_t number) { return number == numbers[0]; });
    if (same) return SizeExpression{0, 0, numbers[0]};
    std::optional<SizeExpression> found;
    for (uint32_t symbols = 1; symbols >> points[0].size() == 0; ++symbols) {
        const int64_t first = product(symbols, points[0].data());
        for (size_t i = 1; i < points.size(); ++i) {
            const int64_t step = product(symbols, points[i].data()) - first;
            if (step == 0) continue;
            const int64_t rise = numbers[i] - numbers[0];
            SizeExpression one{rise / step, symbols, 0};
            if (one.factor == 0) break;
            one.offset = numbers[0] - one.at(points[0].data());
            const bool fits = std::equal(
                points.begin(), points.end(), numbers.begin(),
                [&](const auto& point, int64_t number) { return one.at(point.data()) == number; });
            if (!fits) break;
            if (found) return std::nullopt;
            found = one;
            break;
        }
    }
    return found;
}

}  // namespace arm_runtime::vgf
