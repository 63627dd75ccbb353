#include "payload.hpp"

#include <cstring>

namespace arm_runtime::ethosu {
namespace {

constexpr size_t kNameSize = 16, kHeaderSize = 32, kAlignment = 16, kReferenceSize = 64;
constexpr size_t kRank = 6, kRowWords = kRank + 3;
constexpr int32_t kScratchRegion = 1;

uint32_t word(const uint8_t* at) {
    uint32_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
}

struct Row {
    int32_t shape[kRank], element_size, offset, region;
};
static_assert(sizeof(Row) == kRowWords * 4);

Row row_at(const uint8_t* rows, uint32_t index) {
    Row row{};
    std::memcpy(&row, rows + size_t{index} * sizeof row, sizeof row);
    return row;
}

/// The size of a row's tensor in bytes; false if it does not fit 31 bits or makes no sense.
bool size_of(const Row& row, size_t& size) {
    if (row.element_size != 1 && row.element_size != 2 && row.element_size != 4) return false;
    auto total = static_cast<uint64_t>(row.element_size);
    for (const int32_t n : row.shape) {
        if (n < 1) return false;
        total *= static_cast<uint64_t>(n);
        if (total > INT32_MAX) return false;
    }
    size = static_cast<size_t>(total);
    return true;
}

enum Name : uint32_t { kFirst, kCommands, kWeights, kScratch, kInputs, kOutputs, kLast, kNames };
constexpr char kBlocks[kNames][kNameSize] = {"vela_bin_stream", "cmd_data", "weight_data",
                                             "scratch_size",    "inputs",   "outputs",
                                             "vela_end_stream"};

Name name_of(const uint8_t* header) {
    uint32_t i = 0;
    while (i < kNames && std::memcmp(kBlocks[i], header, kNameSize) != 0) ++i;
    return static_cast<Name>(i);
}

const char* read_slots(Bytes block, size_t scratch_size, Slots& slots) {
    if (block.size < 4) return "a table of inputs or outputs has no count";
    const uint32_t count = word(block.data);
    if (block.size - 4 != uint64_t{count} * sizeof(Row))
        return "a table of inputs or outputs is not as long as its count says";
    for (uint32_t i = 0; i < count; ++i) {
        const Row row = row_at(block.data + 4, i);
        size_t size = 0;
        if (!size_of(row, size))
            return "an input or output has a shape or element size that is not one";
        if (row.offset < 0) continue;
        if (row.region != kScratchRegion)
            return "an input or output is not in the scratch memory, region 1";
        if (size > scratch_size || static_cast<size_t>(row.offset) > scratch_size - size)
            return "an input or output ends after the scratch memory";
    }
    slots = Slots(block.data + 4, count);
    return nullptr;
}

}  // namespace

Slot Slots::operator[](uint32_t index) const {
    const Row row = row_at(rows_, index);
    Slot slot;
    slot.element_size = static_cast<uint32_t>(row.element_size);
    size_of(row, slot.size);
    slot.placed = row.offset >= 0;
    slot.offset = slot.placed ? static_cast<size_t>(row.offset) : 0;
    return slot;
}

const char* read_payload(Bytes stream, const NamedData& named, Payload& payload) {
    Bytes blocks[kNames];
    bool seen[kNames] = {};
    size_t at = 0;
    while (!seen[kLast]) {
        if (stream.size - at < kHeaderSize) return "ends before block vela_end_stream";
        const uint8_t* header = stream.data + at;
        const Name name = name_of(header);
        if (name == kNames) return "has a block of unknown name";
        if ((name == kFirst) != (at == 0))
            return "does not begin with the one block vela_bin_stream";
        if (seen[name]) return "has a block twice";
        at += kHeaderSize;
        const size_t size = word(header + kNameSize);
        const uint8_t reference = header[kNameSize + 4];
        if (size > stream.size - at ||
            (kAlignment - size % kAlignment) % kAlignment > stream.size - at - size)
            return "ends inside a block";
        blocks[name] = {stream.data + at, size};
        at += size + (kAlignment - size % kAlignment) % kAlignment;
        if (reference > 1) return "has a block that is neither data nor a reference to named data";
        if (reference == 1) {
            const char* key = reinterpret_cast<const char*>(blocks[name].data);
            if (size != kReferenceSize)
                return "has a reference to named data that is not 64 bytes long";
            if (named.find == nullptr || !named.find(named.context, key, size, blocks[name]))
                return "refers to named data that the program and its .ptd files do not have";
        }
        seen[name] = true;
    }
    if (at != stream.size) return "goes on after block vela_end_stream";
    for (const bool one : seen)
        if (!one)
            return "lacks one of the blocks cmd_data, weight_data, scratch_size, inputs, outputs";
    if (blocks[kScratch].size != 4) return "has a block scratch_size that is not 4 bytes long";
    const Bytes commands = blocks[kCommands];
    if (commands.size < 4 || commands.size > INT32_MAX || std::memcmp(commands.data, "COP", 3) != 0)
        return "has no command stream in block cmd_data";
    payload.commands = commands;
    payload.weights = blocks[kWeights];
    payload.scratch_size = word(blocks[kScratch].data);
    if (const char* problem = read_slots(blocks[kInputs], payload.scratch_size, payload.inputs))
        return problem;
    return read_slots(blocks[kOutputs], payload.scratch_size, payload.outputs);
}

const char* read_commands(const Payload& payload, Container& container) {
    const char* problem = read_container(payload.commands.data, payload.commands.size, container);
    if (problem != nullptr || container.configured) return problem;
    return "the command stream does not say for which accelerator it is";
}

}  // namespace arm_runtime::ethosu
