// Where the elements of a result that is copied come from.
#pragma once

#include <cstdint>
#include <vector>

namespace arm_runtime::vgf {

/// A dimension of a result; those of its coordinates from `low` to `high` are in the source.
struct CopyDim {
    int64_t size;
    int64_t stride;  ///< of the source, in elements; 0: repeated, negative: backwards
    int64_t low;
    int64_t high;

    bool bounded() const { return low != 0 || high != size; }
};

/// A result as loops over its source. Dimensions that are one run are one.
class CopyShape {
  public:
    /// The next dimension, from the inside.
    void add(const CopyDim& dim);
    /// What the source's first element is moved by, besides the strides.
    void move(int64_t elements) { offset_ += elements; }

    const std::vector<CopyDim>& dims() const { return dims_; }  ///< from the inside
    int64_t offset() const { return offset_; }
    bool padded() const;

    /// Whether `count` elements that lie side by side in the result do so in the source.
    bool divisible(int64_t count) const;
    /// Makes `count` elements one.
    void divide(int64_t count);

    /// As kernels/copy.comp reads it: size, multiplier and shift that divide by it, stride; where
    /// something is padded, also the bounds.
    std::vector<int32_t> block() const;

  private:
    std::vector<CopyDim> dims_;
    int64_t offset_ = 0;
};

CopyShape contiguous(int64_t count);
CopyShape transposed(const std::vector<int64_t>& source, const std::vector<int64_t>& perms);
CopyShape reversed(const std::vector<int64_t>& source, int64_t axis);
CopyShape sliced(const std::vector<int64_t>& source, const std::vector<int64_t>& start,
                 const std::vector<int64_t>& result);
CopyShape tiled(const std::vector<int64_t>& source, const std::vector<int64_t>& multiples);
CopyShape padded(const std::vector<int64_t>& source, const std::vector<int64_t>& padding);

}  // namespace arm_runtime::vgf
