#include "graph.hpp"

#include <cstring>

namespace arm_runtime::vgf {
namespace {

template <typename T>
std::vector<int64_t> widened(const std::vector<uint8_t>& data) {
    std::vector<int64_t> out(data.size() / sizeof(T));
    for (size_t i = 0; i < out.size(); ++i) {
        T value{};
        std::memcpy(&value, data.data() + i * sizeof(T), sizeof(T));
        out[i] = value;
    }
    return out;
}

std::vector<int64_t> signed_bytes(const std::vector<uint8_t>& data) {
    std::vector<int64_t> out(data.begin(), data.end());
    for (int64_t& value : out) value -= value < 128 ? 0 : 256;
    return out;
}

}  // namespace

size_t size_of(ElementType type) {
    static constexpr size_t kSizes[] = {1, 1, 2, 4, 8, 2, 2, 4, 1, 1};
    return kSizes[static_cast<size_t>(type)];
}

const char* name_of(ElementType type) {
    static constexpr const char* kNames[] = {"bool", "i8",   "i16",  "i32",     "i48",
                                             "fp16", "bf16", "fp32", "fp8e4m3", "fp8e5m2"};
    return kNames[static_cast<size_t>(type)];
}

int64_t elements(const Tensor& tensor) {
    int64_t count = 1;
    for (const int64_t size : tensor.shape) count *= size;
    return count;
}

std::vector<int64_t> Graph::integers(const Operator& op, size_t index) const {
    const Tensor& tensor = operand(op, index);
    switch (tensor.type) {
        case ElementType::kBool:
        case ElementType::kInt8:
            return signed_bytes(tensor.data);
        case ElementType::kInt16:
            return widened<int16_t>(tensor.data);
        case ElementType::kInt32:
            return widened<int32_t>(tensor.data);
        case ElementType::kInt48:
            return widened<int64_t>(tensor.data);
        default:
            throw Error(std::string("a constant of ") + name_of(tensor.type) +
                        " where integers belong");
    }
}

}  // namespace arm_runtime::vgf
