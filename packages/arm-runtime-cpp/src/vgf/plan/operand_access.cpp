#include "operand_access.hpp"

#include "../kernels/steps.h"

namespace arm_runtime::vgf {

Access access_of(const std::vector<int64_t>& shape, const std::vector<int64_t>& result) {
    // From the inside; neighbours that are both read one after the other, or both repeated, are
    // one.
    std::vector<std::pair<int64_t, int64_t>> dims;  // size and stride
    int64_t stride = 1;
    for (size_t i = 0; i < result.size(); ++i) {
        const int64_t size = result[result.size() - 1 - i];
        const int64_t own = i < shape.size() ? shape[shape.size() - 1 - i] : 1;
        if (size == 1) continue;
        const int64_t step = own == 1 ? 0 : stride;
        if (!dims.empty() && (dims.back().second == 0) == (step == 0) &&
            (step == 0 || step == dims.back().first * dims.back().second)) {
            dims.back().first *= size;
        } else {
            dims.emplace_back(size, step);
        }
        stride *= own;
    }
    if (dims.empty() || (dims.size() == 1 && dims[0].second == 0)) {
        // A result of one element reads the operand's only one.
        return {ACCESS_SCALAR, 0, {}};
    }
    if (dims.size() == 1) return {ACCESS_FLAT, 0, {}};
    if (dims.size() == 2 && dims[1].second == 0) {
        return {ACCESS_CHANNEL, static_cast<int32_t>(dims[0].first), {}};
    }
    Access access{ACCESS_STRIDED, 0, {static_cast<int32_t>(dims.size())}};
    for (const auto& [size, step] : dims) {
        access.block.push_back(static_cast<int32_t>(size));
        access.block.push_back(static_cast<int32_t>(step));
    }
    return access;
}

}  // namespace arm_runtime::vgf
