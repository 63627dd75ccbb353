#include "spirv_types.hpp"

#include <algorithm>
#include <spirv/unified1/spirv.hpp>

namespace arm_runtime::vgf {
namespace {

/// Sums and products of sizes that stay far from overflow: what is larger is unknown.
constexpr uint64_t kLargest = uint64_t{1} << 31;

uint64_t limited(uint64_t size) { return size > kLargest ? kUnknownSize : size; }

uint64_t product(uint64_t a, uint64_t b) {
    return a > kLargest || b > kLargest ? kUnknownSize : limited(a * b);
}

uint64_t sum(uint64_t a, uint64_t b) {
    return a > kLargest || b > kLargest ? kUnknownSize : limited(a + b);
}

template <typename Key, typename Value>
Value found(const std::map<Key, Value>& map, const Key& key, Value otherwise) {
    const auto at = map.find(key);
    return at == map.end() ? otherwise : at->second;
}

}  // namespace

void SpirvTypes::note(const uint32_t* op, size_t length) {
    switch (op[0] & 0xffff) {
        case spv::OpTypeInt:
        case spv::OpTypeFloat:
        case spv::OpConstant:
        case spv::OpSpecConstant:
            note_number(op, length);
            break;
        case spv::OpTypeVector:
        case spv::OpTypeMatrix:
        case spv::OpTypeArray:
        case spv::OpTypeStruct:
            note_composite(op, length);
            break;
        case spv::OpDecorate:
        case spv::OpMemberDecorate:
            note_decoration(op, length);
            break;
        case spv::OpTypeImage:
        case spv::OpTypeSampledImage:
            note_image(op, length);
            break;
        case spv::OpTypeTensorARM:
            if (length >= 2) descriptors_[op[1]].kind = SpirvKind::kTensor;
            break;
        case spv::OpTypePointer:
            if (length == 4) pointers_[op[1]] = {op[2], op[3]};
            break;
        default:
            break;
    }
}

void SpirvTypes::note_number(const uint32_t* op, size_t length) {
    const uint32_t code = op[0] & 0xffff;
    if (code == spv::OpConstant || code == spv::OpSpecConstant) {
        // Of 32 bits: the length of an array. Nothing specializes it, so its default holds.
        if (length == 4) constants_[op[2]] = op[3];
        return;
    }
    if (length < 3) return;
    Layout layout;
    layout.bytes = op[2] / 8;
    layouts_[op[1]] = layout;
    if (op[2] != 32) return;
    const bool is_signed = length == 4 && op[3] == 1;
    numbers_[op[1]] = code == spv::OpTypeFloat ? SpirvNumber::kFloat
                      : is_signed              ? SpirvNumber::kSigned
                                               : SpirvNumber::kUnsigned;
}

void SpirvTypes::note_composite(const uint32_t* op, size_t length) {
    if (length < 2) return;
    const uint32_t id = op[1];
    Layout layout;
    if ((op[0] & 0xffff) == spv::OpTypeStruct) {
        layout.bytes = 0;
        layout.begin = length > 2 ? kUnknownSize : 0;
        for (uint32_t i = 0; i + 2 < length; ++i) {
            const Member member = found(members_, std::pair(id, i), Member{});
            layout.bytes = std::max(layout.bytes, end_of(this->layout(op[2 + i]), member));
            layout.begin = std::min(layout.begin, member.offset);
        }
        blocks_.emplace(id, false);
        layouts_[id] = layout;
        return;
    }
    if (length != 4) return;
    layout = this->layout(op[2]);
    switch (op[0] & 0xffff) {
        case spv::OpTypeVector:
            layout.rows = op[3];
            layout.bytes = product(layout.bytes, op[3]);
            break;
        case spv::OpTypeMatrix:
            layout.columns = op[3];
            break;
        default: {  // an array
            const uint64_t count = found(constants_, op[3], kUnknownSize);
            const uint64_t stride = found(array_strides_, id, kUnknownSize);
            layout.before =
                count == 0 ? kUnknownSize : sum(layout.before, product(count - 1, stride));
        }
    }
    layouts_[id] = layout;
}

void SpirvTypes::note_decoration(const uint32_t* op, size_t length) {
    if (length < 3) return;
    if ((op[0] & 0xffff) == spv::OpDecorate) {
        if (op[2] == spv::DecorationArrayStride && length == 4) array_strides_[op[1]] = op[3];
        if (op[2] == spv::DecorationBufferBlock) blocks_[op[1]] = true;
        return;
    }
    if (length < 4) return;
    Member& member = members_[{op[1], op[2]}];
    if (op[3] == spv::DecorationRowMajor) member.row_major = true;
    if (length != 5) return;
    if (op[3] == spv::DecorationOffset) member.offset = op[4];
    if (op[3] == spv::DecorationMatrixStride) member.matrix_stride = op[4];
}

void SpirvTypes::note_image(const uint32_t* op, size_t length) {
    if ((op[0] & 0xffff) == spv::OpTypeSampledImage) {
        if (length != 3) return;
        SpirvDescriptor combined = found(descriptors_, op[2], SpirvDescriptor{});
        combined.kind = combined.kind == SpirvKind::kSampledImage ? SpirvKind::kCombinedImageSampler
                                                                  : SpirvKind::kOther;
        descriptors_[op[1]] = combined;
        return;
    }
    if (length < 9) return;
    SpirvDescriptor image;
    image.kind = op[7] == 1   ? SpirvKind::kSampledImage
                 : op[7] == 2 ? SpirvKind::kStorageImage
                              : SpirvKind::kOther;
    image.plain = op[3] == spv::Dim2D && op[5] == 0 && op[6] == 0;
    image.texel = found(numbers_, op[2], SpirvNumber::kOther);
    image.format = op[8];
    descriptors_[op[1]] = image;
}

SpirvTypes::Layout SpirvTypes::layout(uint32_t type) const {
    return found(layouts_, type, Layout{});
}

uint64_t SpirvTypes::end_of(const Layout& layout, const Member& member) {
    uint64_t bytes = layout.bytes;
    if (layout.columns != 0) {
        const uint64_t lines = member.row_major ? layout.rows : layout.columns;
        const uint64_t in_line = member.row_major ? layout.columns : layout.rows;
        const uint64_t number = layout.bytes / std::max<uint64_t>(layout.rows, 1);
        bytes = lines == 0
                    ? kUnknownSize
                    : sum(product(lines - 1, member.matrix_stride), product(in_line, number));
    }
    return sum(member.offset, sum(layout.before, bytes));
}

SpirvDescriptor SpirvTypes::descriptor(uint32_t pointer) const {
    const auto [storage, type] =
        found(pointers_, pointer, std::pair<uint32_t, uint32_t>(spv::StorageClassMax, 0));
    if (storage == spv::StorageClassUniformConstant) {
        return found(descriptors_, type, SpirvDescriptor{});
    }
    SpirvDescriptor buffer;
    const auto block = blocks_.find(type);
    if (block == blocks_.end()) return buffer;
    if (storage == spv::StorageClassStorageBuffer) buffer.kind = SpirvKind::kStorageBuffer;
    if (storage == spv::StorageClassUniform) {
        buffer.kind = block->second ? SpirvKind::kStorageBuffer : SpirvKind::kUniformBuffer;
    }
    return buffer;
}

std::pair<uint64_t, uint64_t> SpirvTypes::span(uint32_t pointer) const {
    const auto found = pointers_.find(pointer);
    if (found == pointers_.end()) return {0, kUnknownSize};
    const Layout layout = this->layout(found->second.second);
    return {layout.begin, layout.bytes};
}

}  // namespace arm_runtime::vgf
