// The functions of ExecuTorch's runtime that the delegate calls. The Python package has that
// runtime for the host only; these few stand in for it, by their declared meaning, so that the
// delegate itself runs here.
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/portable_type/tensor_impl.h>
#include <executorch/runtime/platform/log.h>

#include <cstdio>
#include <cstdlib>

#include "stand_ins.hpp"

namespace {
executorch::runtime::BackendInterface* registered = nullptr;
}

executorch::runtime::BackendInterface* registered_backend() { return registered; }

namespace executorch::runtime {

BackendInterface::~BackendInterface() = default;

Error register_backend(const Backend& backend) {
    registered = backend.backend;
    return Error::Ok;
}

void runtime_abort() { std::abort(); }

namespace internal {

et_timestamp_t get_log_timestamp() { return 0; }

void vlogf(LogLevel, et_timestamp_t, const char*, const char*, size_t, const char* format,
           va_list arguments) {
    std::vprintf(format, arguments);
    std::putchar('\n');
}

}  // namespace internal

namespace etensor {

TensorImpl::TensorImpl(ScalarType type, ssize_t dim, SizesType* sizes, void* data,
                       DimOrderType* dim_order, StridesType* strides, TensorShapeDynamism dynamism,
                       DeviceType device, DeviceIndex index)
    : sizes_(sizes),
      dim_order_(dim_order),
      strides_(strides),
      data_(data),
      dim_(dim),
      numel_(sizes[0]),
      numel_bound_(static_cast<size_t>(sizes[0])),
      type_(type),
      shape_dynamism_(dynamism),
      device_(device, index) {}

size_t TensorImpl::nbytes() const { return static_cast<size_t>(numel_); }

ssize_t TensorImpl::element_size() const { return 1; }

}  // namespace etensor
}  // namespace executorch::runtime
