#include "sizes_block.hpp"

#include <cstring>
#include <vgf/decoder.hpp>

namespace arm_runtime::vgf {
namespace {

namespace lib = mlsdk::vgflib;

constexpr char kMagic[] = {'A', 'R', 'M', 'S', 'I', 'Z', 'E', '1'};
constexpr size_t kTrailer = sizeof(uint64_t) + sizeof(kMagic);
constexpr uint32_t kMaxSymbols = 4;
constexpr uint32_t kMaxSamples = 8;
constexpr uint32_t kMaxName = 256;

class Block {
  public:
    Block(const uint8_t* data, size_t size) : data_(data), left_(size) {}

    uint32_t number(uint32_t least, uint32_t most, const char* what) {
        uint32_t value = 0;
        std::memcpy(&value, take(sizeof(value)), sizeof(value));
        if (value < least || value > most) {
            throw Error("VGF: " + std::string(what) + " of its varying sizes is " +
                        std::to_string(value) + ", and must be within " + std::to_string(least) +
                        " to " + std::to_string(most));
        }
        return value;
    }

    const uint8_t* take(size_t bytes) {
        const size_t padded = (bytes + 3) / 4 * 4;
        if (padded > left_) throw Error("VGF: the block of its varying sizes ends too early");
        const uint8_t* const at = data_;
        data_ += padded;
        left_ -= padded;
        return at;
    }

    size_t left() const { return left_; }

  private:
    const uint8_t* data_;
    size_t left_;
};

Sample read_sample(Block& block, const Program& program) {
    Sample sample;
    // Few values are within narrow bounds: samples may be beyond.
    for (size_t i = 0; i < program.symbols.size(); ++i) {
        sample.values.push_back(block.number(1, 0x7fffffff, "a sample"));
    }
    const uint32_t bytes = block.number(1, 0x7fffffff, "a module table");
    const uint8_t* const given = block.take(bytes);  // before there is memory for it
    // It is read in place, as numbers of 8 bytes.
    std::vector<uint64_t> table((size_t{bytes} + 7) / 8);
    std::memcpy(table.data(), given, bytes);
    const auto modules = lib::CreateModuleTableDecoder(table.data(), bytes);
    if (!modules || modules->size() != 1 || modules->getModuleType(0) != lib::ModuleType::GRAPH ||
        !modules->hasSPIRVCode(0)) {
        throw Error("VGF: a sample of its varying sizes is not one graph in SPIR-V");
    }
    const auto code = modules->getSPIRVModuleCode(0);
    sample.code.assign(code.begin(), code.end());
    sample.entry_point = std::string(modules->getModuleEntryPoint(0));
    return sample;
}

}  // namespace

size_t sizes_block_bytes(const uint8_t* data, size_t size) {
    if (size < kTrailer || std::memcmp(data + size - sizeof(kMagic), kMagic, sizeof(kMagic)) != 0) {
        return 0;
    }
    uint64_t bytes = 0;
    std::memcpy(&bytes, data + size - kTrailer, sizeof(bytes));
    if (bytes > size - kTrailer) throw Error("VGF: the block of its varying sizes is cut off");
    return static_cast<size_t>(bytes) + kTrailer;
}

void read_sizes_block(const uint8_t* data, size_t size, ParsedFile& file) {
    Program& program = file.program;
    if (program.segments.size() != 1 || !program.segments[0].graph()) {
        throw Error("VGF: sizes vary in programs of one graph only");
    }
    if (program.had_unknown_sizes) {
        throw Error("VGF: it says how sizes vary, and has unknown ones (-1)");
    }
    Block block(data, size - kTrailer);
    program.symbols.resize(block.number(1, kMaxSymbols, "the number of symbols"));
    for (Symbol& symbol : program.symbols) {
        symbol.least = block.number(1, 0x7fffffff, "a least value");
        symbol.most =
            block.number(static_cast<uint32_t>(symbol.least), 0x7fffffff, "a largest value");
        const uint32_t length = block.number(1, kMaxName, "a name's length");
        const auto* const name = reinterpret_cast<const char*>(block.take(length));
        symbol.name.assign(name, length);
    }
    const uint32_t samples = block.number(1, kMaxSamples, "the number of samples");
    for (uint32_t i = 0; i < samples; ++i) file.samples.push_back(read_sample(block, program));
    if (block.left() != 0) throw Error("VGF: the block of its varying sizes is too long");
}

}  // namespace arm_runtime::vgf
