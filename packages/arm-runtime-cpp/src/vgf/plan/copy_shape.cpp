#include "copy_shape.hpp"

#include <algorithm>

#include "plan.hpp"

namespace arm_runtime::vgf {
namespace {

std::vector<int64_t> strides_of(const std::vector<int64_t>& shape) {
    std::vector<int64_t> out(shape.size());
    int64_t stride = 1;
    for (size_t i = shape.size(); i-- > 0;) {
        out[i] = stride;
        stride *= shape[i];
    }
    return out;
}

/// n / size of every n below 2^31 is (n * multiplier / 2^32 + n) / 2^shift.
struct Divider {
    uint32_t multiplier;
    uint32_t shift;
};

Divider divider_of(uint64_t size) {
    uint32_t shift = 0;
    while ((uint64_t{1} << shift) < size) ++shift;
    const uint64_t multiplier = (uint64_t{1} << 32) * ((uint64_t{1} << shift) - size) / size + 1;
    return {static_cast<uint32_t>(multiplier), shift};
}

}  // namespace

void CopyShape::add(const CopyDim& dim) {
    if (dim.size == 1 && !dim.bounded()) return;
    if (!dims_.empty()) {
        CopyDim& inner = dims_.back();
        if (!inner.bounded() && dim.stride == inner.size * inner.stride) {
            inner = {dim.size * inner.size, inner.stride, dim.low * inner.size,
                     dim.high * inner.size};
            return;
        }
    }
    dims_.push_back(dim);
}

bool CopyShape::padded() const {
    return std::any_of(dims_.begin(), dims_.end(), [](const CopyDim& d) { return d.bounded(); });
}

bool CopyShape::divisible(int64_t count) const {
    if (count == 1) return true;
    if (dims_.empty() || dims_[0].stride != 1 || offset_ % count != 0) return false;
    const CopyDim& run = dims_[0];
    return run.size % count == 0 && run.low % count == 0 && run.high % count == 0 &&
           std::all_of(dims_.begin() + 1, dims_.end(),
                       [&](const CopyDim& d) { return d.stride % count == 0; });
}

void CopyShape::divide(int64_t count) {
    if (count == 1) return;
    offset_ /= count;
    for (CopyDim& dim : dims_) dim.stride /= count;
    dims_[0] = {dims_[0].size / count, 1, dims_[0].low / count, dims_[0].high / count};
}

std::vector<int32_t> CopyShape::block() const {
    std::vector<int32_t> out;
    const bool bounds = padded();
    for (const CopyDim& dim : dims_) {
        const Divider divider = divider_of(static_cast<uint64_t>(dim.size));
        out.insert(out.end(), {int_of(dim.size), int_of(divider.multiplier), int_of(divider.shift),
                               int_of(dim.stride)});
        if (bounds) out.insert(out.end(), {int_of(dim.low), int_of(dim.high), 0, 0});
    }
    return out;
}

CopyShape contiguous(int64_t count) {
    CopyShape shape;
    shape.add({count, 1, 0, count});
    return shape;
}

CopyShape transposed(const std::vector<int64_t>& source, const std::vector<int64_t>& perms) {
    const std::vector<int64_t> strides = strides_of(source);
    CopyShape shape;
    for (size_t i = perms.size(); i-- > 0;) {
        const auto from = static_cast<size_t>(perms[i]);
        shape.add({source[from], strides[from], 0, source[from]});
    }
    return shape;
}

CopyShape reversed(const std::vector<int64_t>& source, int64_t axis) {
    const std::vector<int64_t> strides = strides_of(source);
    CopyShape shape;
    for (size_t i = source.size(); i-- > 0;) {
        const bool backwards = static_cast<int64_t>(i) == axis;
        shape.add({source[i], backwards ? -strides[i] : strides[i], 0, source[i]});
        if (backwards) shape.move((source[i] - 1) * strides[i]);
    }
    return shape;
}

CopyShape sliced(const std::vector<int64_t>& source, const std::vector<int64_t>& start,
                 const std::vector<int64_t>& result) {
    const std::vector<int64_t> strides = strides_of(source);
    CopyShape shape;
    for (size_t i = source.size(); i-- > 0;) {
        shape.add({result[i], strides[i], 0, result[i]});
        shape.move(start[i] * strides[i]);
    }
    return shape;
}

CopyShape tiled(const std::vector<int64_t>& source, const std::vector<int64_t>& multiples) {
    const std::vector<int64_t> strides = strides_of(source);
    CopyShape shape;
    for (size_t i = source.size(); i-- > 0;) {
        shape.add({source[i], strides[i], 0, source[i]});
        shape.add({multiples[i], 0, 0, multiples[i]});
    }
    return shape;
}

CopyShape padded(const std::vector<int64_t>& source, const std::vector<int64_t>& padding) {
    const std::vector<int64_t> strides = strides_of(source);
    CopyShape shape;
    for (size_t i = source.size(); i-- > 0;) {
        const int64_t before = padding[2 * i];
        const int64_t size = before + source[i] + padding[2 * i + 1];
        shape.add({size, strides[i], before, before + source[i]});
        shape.move(-before * strides[i]);
    }
    return shape;
}

}  // namespace arm_runtime::vgf
