// The types of a SPIR-V module, as far as descriptors and push constants need them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace arm_runtime::vgf {

enum class SpirvKind {
    kOther,  ///< nothing that a VGF gives: an array of descriptors, a sampler alone, ...
    kTensor,
    kUniformBuffer,
    kStorageBuffer,
    kStorageImage,
    kSampledImage,
    kCombinedImageSampler,
};

enum class SpirvNumber { kOther, kFloat, kSigned, kUnsigned };

/// What a variable is to a descriptor.
struct SpirvDescriptor {
    SpirvKind kind = SpirvKind::kOther;
    // Of images.
    bool plain = false;                       ///< two-dimensional, one layer, one sample
    SpirvNumber texel = SpirvNumber::kOther;  ///< what the code takes a texel's numbers for
    uint32_t format = 0;                      ///< spv::ImageFormat
};

constexpr uint64_t kUnknownSize = ~uint64_t{0};

/// Collects instructions in their order. Types come before their users in a module: whatever is
/// used before it is there stays unknown.
class SpirvTypes {
  public:
    void note(const uint32_t* op, size_t length);

    /// What a variable of this pointer type is to a descriptor.
    SpirvDescriptor descriptor(uint32_t pointer) const;
    /// The first byte of the structure that a pointer points to, and the one behind its last, as
    /// its decorations lay it out.
    std::pair<uint64_t, uint64_t> span(uint32_t pointer) const;

  private:
    /// Where a value's bytes are. A matrix has its stride from the structure that it is in.
    struct Layout {
        uint64_t bytes = kUnknownSize;  ///< of one; of a matrix: of a column without its stride
        uint64_t begin = 0;             ///< of a structure: the least offset of its members
        uint64_t before = 0;            ///< bytes of an array before its last element
        uint64_t rows = 0;              ///< of a matrix; 0: it is none
        uint64_t columns = 0;
    };
    struct Member {
        uint64_t offset = kUnknownSize;
        uint64_t matrix_stride = kUnknownSize;
        bool row_major = false;
    };

    void note_number(const uint32_t* op, size_t length);
    void note_composite(const uint32_t* op, size_t length);
    void note_decoration(const uint32_t* op, size_t length);
    void note_image(const uint32_t* op, size_t length);
    static uint64_t end_of(const Layout& layout, const Member& member);
    Layout layout(uint32_t type) const;

    std::map<uint32_t, Layout> layouts_;
    std::map<uint32_t, SpirvNumber> numbers_;
    std::map<uint32_t, uint64_t> constants_;
    std::map<uint32_t, uint64_t> array_strides_;
    std::map<std::pair<uint32_t, uint32_t>, Member> members_;
    std::map<uint32_t, bool> blocks_;  ///< structures; whether they are decorated BufferBlock
    std::map<uint32_t, SpirvDescriptor> descriptors_;  ///< images, tensors and the like
    /// Storage class and type.
    std::map<uint32_t, std::pair<uint32_t, uint32_t>> pointers_;
};

}  // namespace arm_runtime::vgf
