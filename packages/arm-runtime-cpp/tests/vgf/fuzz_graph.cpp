// libFuzzer over the reader of graphs: preset fuzz, target vgf_fuzz_graph.
//
// A file says which tensors the segment has, then come the words of its SPIR-V. A tensor is a byte
// for its place (input, output, graph constant), one for its format, one for its rank, and two for
// each size; the first byte of the file says how many there are. make_corpus.py writes such files.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "vgf/graph/graph.hpp"
#include "vgf/vulkan_arm.hpp"

namespace {

using namespace arm_runtime::vgf;

constexpr VkFormat kFormats[] = {VK_FORMAT_R8_SINT,    VK_FORMAT_R16_SINT,   VK_FORMAT_R32_SINT,
                                 VK_FORMAT_R64_SINT,   kFormatBool,          kFormatBFloat16,
                                 VK_FORMAT_R16_SFLOAT, VK_FORMAT_R32_SFLOAT, kFormatFloat8E4M3,
                                 kFormatFloat8E5M2};
constexpr uint64_t kBytes[] = {1, 2, 4, 8, 1, 2, 2, 4, 1, 1};
constexpr uint64_t kMaxConstant = 1 << 16;

/// A file from front to back; zeros after its end.
class Bytes {
  public:
    Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}

    uint8_t byte() { return at_ < size_ ? data_[at_++] : uint8_t{0}; }
    std::vector<uint32_t> words() {
        std::vector<uint32_t> words((size_ - at_) / sizeof(uint32_t));
        if (!words.empty()) std::memcpy(words.data(), data_ + at_, words.size() * sizeof(uint32_t));
        return words;
    }

  private:
    const uint8_t* data_;
    size_t size_;
    size_t at_ = 0;
};

/// A segment and what it is given.
struct Given {
    std::vector<Resource> resources;
    std::vector<Binding> bindings;
    GraphSegment graph;
    SegmentCode code;
};

/// Adds a tensor.
void add(Bytes& bytes, Given& given, const void* zeros) {
    const uint8_t place = bytes.byte() % 3;
    const size_t format = bytes.byte() % std::size(kFormats);
    Resource r{};
    r.role = place == 0 ? Role::kInput : place == 1 ? Role::kOutput : Role::kConstant;
    r.descriptor = kDescriptorTensor;
    r.format = kFormats[format];
    r.bytes = kBytes[format];
    r.storage = static_cast<uint32_t>(given.resources.size());
    r.home = r.role;
    for (size_t rank = bytes.byte() % 7; rank-- > 0;) {
        const int64_t size = bytes.byte() + 256 * bytes.byte();
        r.shape.push_back(size == 0 ? 1 : size);
        r.bytes *= static_cast<uint64_t>(r.shape.back());
    }
    if (place == 2) {
        if (r.bytes > kMaxConstant) return;
        const auto id = static_cast<uint32_t>(given.graph.constants.size());
        given.graph.constants.push_back({id, r.storage});
        given.code.constants.push_back(zeros);
    } else {
        const auto binding = static_cast<uint32_t>(given.bindings.size());
        given.bindings.push_back({0, binding, r.storage, place == 1});
    }
    given.resources.push_back(std::move(r));
}

/// Reads every element that a constant promises, and every tensor that an operator names.
uint64_t touch(const Graph& graph) {
    uint64_t sum = 0;
    for (const Tensor& tensor : graph.tensors) {
        const auto bytes = static_cast<uint64_t>(elements(tensor)) * size_of(tensor.type);
        if (tensor.constant && tensor.data.size() != bytes) __builtin_trap();
        for (const uint8_t value : tensor.data) sum += value;
    }
    for (const Operator& op : graph.operators) {
        sum += static_cast<uint64_t>(*opcode_name(op.opcode));
        for (size_t i = 0; i < op.operands.size(); ++i) sum += graph.operand(op, i).shape.size();
        for (size_t i = 0; i < op.results.size(); ++i) sum += graph.result(op, i).shape.size();
    }
    return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const std::array<uint8_t, kMaxConstant> kZeros{};
    Bytes bytes(data, size);
    Given given;
    given.code.entry_point = "graph_partition_0";  // the model converter's
    for (size_t count = bytes.byte() % 16; count-- > 0;) add(bytes, given, kZeros.data());
    const std::vector<uint32_t> words = bytes.words();
    given.code.words = words.data();
    given.code.count = words.size();
    const Segment segment{"segment", given.bindings, given.graph};
    try {
        volatile uint64_t sum = touch(read_graph(given.resources, segment, given.code, "segment"));
        (void)sum;
    } catch (const Error&) {
        // What a malformed file is for.
    }
    return 0;
}
