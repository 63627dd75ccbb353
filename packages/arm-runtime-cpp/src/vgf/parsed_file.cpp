#include "parsed_file.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <vgf/decoder.hpp>

#include "check_code.hpp"
#include "formats.hpp"
#include "image_resource.hpp"
#include "shape_text.hpp"
#include "sizes_block.hpp"
#include "unknown_sizes.hpp"
#include "vulkan_arm.hpp"

namespace arm_runtime::vgf {
namespace {

namespace lib = mlsdk::vgflib;

// A tensor's size must fit 40 bits: far more than a device has, far less than what overflows.
constexpr uint64_t kMaxBytes = uint64_t{1} << 40;
constexpr size_t kMaxRank = 6;               // of VK_ARM_tensors' emulation; devices may have less
constexpr uint32_t kMaxSets = 4;             // Vulkan's least maxBoundDescriptorSets
constexpr size_t kMaxNameLength = 256;       // longer names would only make errors unreadable
constexpr uint64_t kMaxPushBytes = 1 << 16;  // devices have far less, which loading finds

std::string text(uint64_t number) { return std::to_string(number); }

std::string text(std::string_view name) { return std::string(name.substr(0, kMaxNameLength)); }

/// The elements, which a file may hold where int64 must not lie.
std::vector<int64_t> copied(lib::DataView<int64_t> view) {
    std::vector<int64_t> out(view.size());
    if (!out.empty()) std::memcpy(out.data(), view.data(), out.size() * sizeof(int64_t));
    return out;
}

class Reader {
  public:
    Reader(const uint8_t* data, size_t size) : data_(data), size_(size) {}

    ParsedFile read() {
        open();
        read_resources();
        read_constants();
        for (uint32_t i = 0; i < sequence_->modelSequenceTableSize(); ++i) read_segment(i);
        if (program_.segments.empty()) throw Error("VGF: it has no segments, so nothing to run");
        read_ports(sequence_->getModelSequenceInputBindingSlotsHandle(),
                   sequence_->getModelSequenceInputNamesHandle(), Role::kInput, program_.inputs);
        read_ports(sequence_->getModelSequenceOutputBindingSlotsHandle(),
                   sequence_->getModelSequenceOutputNamesHandle(), Role::kOutput, program_.outputs);
        return std::move(file_);
    }

  private:
    struct StoredConstant {
        uint32_t resource;
        const void* data;
    };

    void open() {
        const auto header = lib::CreateHeaderDecoder(data_, lib::HeaderSize(), size_);
        if (!header) {
            // The identifier of ExecuTorch's programs, and two digits.
            if (size_ >= 8 && std::memcmp(data_ + 4, "ET", 2) == 0) {
                throw Error(
                    "VGF: this is a program of ExecuTorch (.pte): compile to a file called .vgf, "
                    "or take the VGFs out with `arm-tosa extract`");
            }
            throw Error(
                "VGF: no valid header: the magic, the version (this runtime reads 0.x), or a "
                "section beyond the file's " +
                text(size_) + " bytes");
        }
        modules_ = lib::CreateModuleTableDecoder(data_ + header->GetModuleTableOffset(),
                                                 header->GetModuleTableSize());
        sequence_ = lib::CreateModelSequenceTableDecoder(
            data_ + header->GetModelSequenceTableOffset(), header->GetModelSequenceTableSize());
        resources_ = lib::CreateModelResourceTableDecoder(
            data_ + header->GetModelResourceTableOffset(), header->GetModelResourceTableSize());
        constants_ = lib::CreateConstantDecoder(data_ + header->GetConstantsOffset(),
                                                header->GetConstantsSize());
        if (!modules_) throw Error("VGF: the module table is malformed");
        if (!sequence_) throw Error("VGF: the model sequence table is malformed");
        if (!resources_) throw Error("VGF: the model resource table is malformed");
        if (!constants_) throw Error("VGF: the constant section is malformed");
    }

    /// Resources that share memory.
    struct AliasGroup {
        uint32_t first;
        bool image = false;
        bool equal = true;  ///< in bytes
    };

    void read_resources() {
        std::map<uint32_t, AliasGroup> groups;
        for (uint32_t i = 0; i < resources_->size(); ++i) {
            program_.resources.push_back(read_resource(i));
            if (const auto group = resources_->getAliasGroupId(i)) {
                join(i, groups.emplace(*group, AliasGroup{i}).first->second);
            }
        }
        for (Resource& r : program_.resources) r.home = program_.resources[r.storage].home;
    }

    void join(uint32_t index, AliasGroup& group) {
        Resource& r = program_.resources[index];
        Resource& first = program_.resources[group.first];
        r.storage = group.first;
        group.image |= r.image.has_value();
        group.equal &= r.bytes == first.bytes;
        const std::string where =
            "VGF resource " + text(index) + ": it shares memory with resource " + text(group.first);
        if ((first.role == Role::kConstant) != (r.role == Role::kConstant)) {
            throw Error(where + ", and one of them is a constant");
        }
        if (is_open(first.shape) || is_open(r.shape)) {
            throw Error(where + ", and one of them has an unknown size (-1)");
        }
        if (first.role != r.role) first.home = Role::kOutput;
        if (group.image && !group.equal) {
            throw Error(where + " and perhaps others, one of them an image, and has " +
                        text(r.bytes) + " bytes: with an image all must have equally many");
        }
    }

    Resource read_resource(uint32_t index) {
        const std::string where = "VGF resource " + text(index);
        static constexpr Role kRoles[] = {Role::kInput, Role::kOutput, Role::kIntermediate,
                                          Role::kConstant};
        const Role role = kRoles[static_cast<size_t>(resources_->getCategory(index))];
        // Numbers from the file are no enumerators until they are known to be.
        const int32_t descriptor = resources_->getDescriptorType(index).value_or(kDescriptorTensor);
        const bool image = is_image(descriptor) && role != Role::kConstant;
        if (!image && descriptor != kDescriptorTensor &&
            descriptor != VK_DESCRIPTOR_TYPE_STORAGE_BUFFER &&
            descriptor != VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER) {
            throw Error(where + ": descriptor type " + std::to_string(descriptor) +
                        " is not supported; tensors, storage and uniform buffers are, and images "
                        "that are no constants");
        }
        const int32_t format = resources_->getVkFormat(index);
        const ImageFormat* const texel = image ? image_format(format) : nullptr;
        const size_t element = texel ? size_of(texel->type) : image ? 0 : element_size(format);
        if (element == 0) {
            throw Error(where + ": format " + std::to_string(format) + " is not supported" +
                        (image ? " for images" : ""));
        }
        std::vector<int64_t> shape = copied(resources_->getTensorShape(index));
        uint64_t bytes = element;
        for (const int64_t size : shape) {
            if (size == -1 && descriptor == kDescriptorTensor && role != Role::kConstant) continue;
            if (size < 1 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes) ||
                bytes > kMaxBytes) {
                throw Error(where + ": its shape " + shape_text(shape) + " is out of range");
            }
        }
        if (shape.size() > kMaxRank) {
            throw Error(where + ": rank " + text(shape.size()) + " is more than " + text(kMaxRank));
        }
        check_packed(shape, copied(resources_->getTensorStride(index)), element, where);
        std::optional<Image> found;
        if (image) found = read_image(*resources_, index, *texel, shape, where);
        // Vulkan has no tensors of rank 0: a scalar has one dimension.
        if (shape.empty()) shape.push_back(1);
        return {role,
                static_cast<VkDescriptorType>(descriptor),
                static_cast<VkFormat>(format),
                std::move(shape),
                bytes,
                index,
                role,
                found};
    }

    static void check_packed(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides,
                             size_t element, const std::string& where) {
        bool packed = strides.empty() || strides.size() == shape.size();
        auto expected = static_cast<int64_t>(element);
        for (size_t i = strides.size(); packed && i-- > 0;) {
            packed = strides[i] == expected;
            expected *= shape[i];
        }
        if (!packed) {
            throw Error(where + ": strides " + shape_text(strides) +
                        " are not those of a packed tensor of shape " + shape_text(shape));
        }
    }

    /// Bytes of an element, of constants too, which may have types that no argument has; 0: none.
    static size_t element_size(int32_t format) {
        if (const auto type = type_of(format)) return size_of(*type);
        switch (format) {
            case kFormatFloat8E4M3:
            case kFormatFloat8E5M2:
                return 1;
            case VK_FORMAT_R64_SINT:
                return 8;  // int48 constants
            default:
                return 0;
        }
    }

    void read_constants() {
        for (uint32_t i = 0; i < constants_->size(); ++i) {
            const std::string where = "VGF constant " + text(i);
            const uint32_t resource = constants_->getConstantMrtIndex(i);
            check_index(resource, program_.resources.size(), where, "resource");
            const Resource& r = program_.resources[resource];
            if (r.role != Role::kConstant) {
                throw Error(where + ": resource " + text(resource) + " is no constant");
            }
            const auto data = constants_->getConstant(i);
            if (data.size() != r.bytes) {
                throw Error(where + ": it has " + text(data.size()) + " bytes, and its resource " +
                            text(resource) + " takes " + text(r.bytes));
            }
            // The data are dense whatever this says. It stays unread otherwise: Vulkan takes it for
            // a promise of zeros, and the model converter gives it for weights without any zero.
            const int64_t dimension = constants_->getConstantSparsityDimension(i);
            if (dimension < -1 || dimension >= static_cast<int64_t>(r.shape.size())) {
                throw Error(where + ": sparse along dimension " + std::to_string(dimension) +
                            " of " + text(r.shape.size()));
            }
            stored_.push_back({resource, data.data()});
        }
    }

    void read_segment(uint32_t index) {
        Segment s;
        SegmentCode code;
        s.name = text(sequence_->getSegmentName(index));
        const std::string where = "VGF segment " + text(index) + " ('" + s.name + "')";
        const uint32_t module = sequence_->getSegmentModuleIndex(index);
        check_index(module, modules_->size(), where, "module");
        const lib::ModuleType type = sequence_->getSegmentType(index);
        if (modules_->getModuleType(module) != type) {
            throw Error(where + ": its type is not that of its module " + text(module));
        }
        if (!modules_->hasSPIRVCode(module)) {
            throw Error(where + ": module " + text(module) +
                        " holds no SPIR-V; shader source must be compiled before it is packed");
        }
        const auto words = modules_->getSPIRVModuleCode(module);
        code.words = words.data();
        code.count = words.size();
        code.entry_point = text(modules_->getModuleEntryPoint(module));
        const PushRange push = read_push_range(index, where);
        if (type != lib::ModuleType::GRAPH) s.kind = ShaderSegment{};
        read_bindings(index, s, where);
        if (type == lib::ModuleType::GRAPH) {
            s.kind = read_graph_constants(index, code, where);
        } else {
            s.kind = ShaderSegment{read_groups(index, where), push, {}};
        }
        check_code(program_.resources, s, code, push, where);
        program_.segments.push_back(std::move(s));
        file_.code.push_back(std::move(code));
    }

    void read_bindings(uint32_t index, Segment& s, const std::string& where) {
        std::set<std::pair<uint32_t, uint32_t>> taken;
        for (uint32_t i = 0; i < sequence_->getSegmentDescriptorSetInfosSize(index); ++i) {
            const uint32_t set = sequence_->getSegmentDescriptorSetIndex(index, i);
            check_index(set, kMaxSets, where, "descriptor set");
            const auto* const slots = sequence_->getDescriptorBindingSlotsHandle(index, i);
            for (uint32_t j = 0; j < sequence_->getBindingsSize(slots); ++j) {
                const Binding b{set, sequence_->getBindingSlotBinding(slots, j),
                                sequence_->getBindingSlotMrtIndex(slots, j), true};
                const std::string slot =
                    where + ": set " + text(b.set) + ", binding " + text(b.binding);
                check_index(b.resource, program_.resources.size(), slot, "resource");
                if (!taken.insert({b.set, b.binding}).second) throw Error(slot + " is there twice");
                const Resource& r = program_.resources[b.resource];
                if (s.graph() && r.descriptor != kDescriptorTensor) {
                    throw Error(slot + ": a graph takes tensors only");
                }
                if (r.role == Role::kConstant) upload(b.resource, slot);
                s.bindings.push_back(b);
            }
        }
    }

    /// Notes that a constant must be in device memory.
    void upload(uint32_t resource, const std::string& where) {
        for (const auto& [known, data] : file_.uploads) {
            if (known == resource) return;
        }
        for (const StoredConstant& c : stored_) {
            if (c.resource == resource) {
                file_.uploads.emplace_back(resource, c.data);
                return;
            }
        }
        throw Error(where + ": constant resource " + text(resource) + " has no data");
    }

    GraphSegment read_graph_constants(uint32_t index, SegmentCode& code,
                                      const std::string& where) const {
        GraphSegment graph;
        const auto* const handle = sequence_->getSegmentConstantBindingsHandle(index);
        std::set<uint32_t> ids;
        for (uint32_t i = 0; i < sequence_->getGraphConstantBindingsSize(handle); ++i) {
            const auto binding = sequence_->getGraphConstantBinding(handle, i);
            check_index(binding.constantIndex, stored_.size(), where, "constant");
            if (!ids.insert(binding.graphConstantId).second) {
                throw Error(where + ": graph constant " + text(binding.graphConstantId) +
                            " is there twice");
            }
            const StoredConstant& c = stored_[binding.constantIndex];
            graph.constants.push_back({binding.graphConstantId, c.resource});
            code.constants.push_back(c.data);
        }
        return graph;
    }

    std::array<uint32_t, 3> read_groups(uint32_t index, const std::string& where) const {
        std::array<uint32_t, 3> out{};
        const auto groups = sequence_->getSegmentDispatchShape(index);
        if (groups.size() != 3) throw Error(where + ": a compute shader without a dispatch shape");
        for (uint32_t i = 0; i < 3; ++i) {
            out[i] = groups[i];
            // What every Vulkan device takes (maxComputeWorkGroupCount).
            if (groups[i] < 1 || groups[i] > 65535) {
                throw Error(where + ": " + text(groups[i]) + " work groups along axis " + text(i) +
                            " are not within 1 to 65535");
            }
        }
        return out;
    }

    /// From the first of the segment's ranges that compute shaders read to the end of the last.
    PushRange read_push_range(uint32_t index, const std::string& where) const {
        const auto* const handle = sequence_->getSegmentPushConstRange(index);
        uint64_t begin = kMaxPushBytes;
        uint64_t end = 0;
        for (uint32_t i = 0; i < sequence_->getPushConstRangesSize(handle); ++i) {
            const uint64_t offset = sequence_->getPushConstRangeOffset(handle, i);
            const uint64_t bytes = sequence_->getPushConstRangeSize(handle, i);
            if (bytes == 0 || offset % 4 != 0 || bytes % 4 != 0 || offset + bytes > kMaxPushBytes) {
                throw Error(where + ": push constants of " + text(bytes) + " bytes at offset " +
                            text(offset) + "; both must be multiples of 4, and end within " +
                            text(kMaxPushBytes));
            }
            if ((sequence_->getPushConstRangeStageFlags(handle, i) & VK_SHADER_STAGE_COMPUTE_BIT) ==
                0) {
                continue;
            }
            begin = std::min(begin, offset);
            end = std::max(end, offset + bytes);
        }
        if (end == 0) return {0, 0};
        return {static_cast<uint32_t>(begin), static_cast<uint32_t>(end - begin)};
    }

    void read_ports(lib::BindingSlotArrayHandle slots, lib::NameArrayHandle names, Role role,
                    std::vector<Port>& ports) {
        const char* const kind = role == Role::kInput ? "input" : "output";
        std::set<uint32_t> seen;
        for (uint32_t i = 0; i < sequence_->getBindingsSize(slots); ++i) {
            const std::string where = std::string("VGF ") + kind + " " + text(i);
            const uint32_t index = sequence_->getBindingSlotMrtIndex(slots, i);
            check_index(index, program_.resources.size(), where, "resource");
            const Resource& r = program_.resources[index];
            const bool output = role == Role::kOutput;
            const bool passed_on = output && r.role == Role::kInput;
            if (r.role != role && !passed_on) {
                throw Error(where + ": resource " + text(index) + " is no " + kind);
            }
            if (!seen.insert(index).second && !output) {
                throw Error(where + ": resource " + text(index) + " is there twice");
            }
            const auto type = r.image ? r.image->format->type : type_of(r.format);
            if (!type) {
                throw Error(where + ": format " + std::to_string(r.format) +
                            " cannot be passed in or out");
            }
            const bool named = i < sequence_->getNamesSize(names);
            ports.push_back(
                {named ? text(sequence_->getName(names, i)) : kind + text(i), index, *type});
        }
    }

    static void check_index(uint64_t index, uint64_t count, const std::string& where,
                            const char* what) {
        if (index >= count) {
            throw Error(where + ": " + what + " " + text(index) + " of " + text(count));
        }
    }

    const uint8_t* data_;
    size_t size_;
    std::unique_ptr<lib::ModuleTableDecoder> modules_;
    std::unique_ptr<lib::ModelSequenceTableDecoder> sequence_;
    std::unique_ptr<lib::ModelResourceTableDecoder> resources_;
    std::unique_ptr<lib::ConstantDecoder> constants_;
    std::vector<StoredConstant> stored_;
    ParsedFile file_;
    Program& program_ = file_.program;
};

}  // namespace

ParsedFile read_file(const void* data, size_t size, const std::string& sizes) {
    if (data == nullptr || size < lib::HeaderSize()) {
        throw Error("VGF: " + text(size) + " bytes, and the header alone takes " +
                    text(lib::HeaderSize()));
    }
    // The tables are read in place, as 8-byte numbers too.
    std::vector<uint64_t> copy;
    if (reinterpret_cast<uintptr_t>(data) % alignof(uint64_t) != 0) {
        copy.resize((size + 7) / 8);
        std::memcpy(copy.data(), data, size);
        data = copy.data();
    }
    const auto* const bytes = static_cast<const uint8_t*>(data);
    const size_t block = sizes_block_bytes(bytes, size);
    ParsedFile file = Reader(bytes, size - block).read();
    set_unknown_sizes(file, sizes);
    if (block != 0) read_sizes_block(bytes + size - block, block, file);
    file.copy = std::move(copy);
    return file;
}

}  // namespace arm_runtime::vgf
