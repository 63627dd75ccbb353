#include "npy.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string_view>

namespace arm_runtime {
namespace {

using executorch::aten::ScalarType;

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMostDimensions = 16;

struct Type {
    const char* name;
    ScalarType type;
    size_t size;
};
constexpr Type kTypes[] = {
    {"|b1", ScalarType::Bool, 1},     {"|i1", ScalarType::Char, 1},
    {"|u1", ScalarType::Byte, 1},     {"<i2", ScalarType::Short, 2},
    {"<u2", ScalarType::UInt16, 2},   {"<i4", ScalarType::Int, 4},
    {"<i8", ScalarType::Long, 8},     {"<f2", ScalarType::Half, 2},
    {"<f4", ScalarType::Float, 4},    {"<f8", ScalarType::Double, 8},
    {"<V2", ScalarType::BFloat16, 2}, {"|V2", ScalarType::BFloat16, 2},
};

/// Reads NumPy's header, a Python dictionary with the keys descr, fortran_order and shape.
class Header {
  public:
    explicit Header(std::string_view text) : text_(text) {}

    /// False: it is damaged. `type` stays a nullptr for a type that is not among ours.
    bool read(std::string_view& name, const Type*& type, bool& in_c_order,
              std::vector<int32_t>& shape, size_t& count) {
        bool order = false, described = false, shaped = false;
        if (!take('{')) return false;
        while (!take('}')) {
            std::string_view key;
            if (!quoted(key) || !take(':')) return false;
            if (key == "descr") {
                if (described || !quoted(name)) return false;
                for (const Type& known : kTypes)
                    if (name == known.name) type = &known;
                described = true;
            } else if (key == "fortran_order") {
                in_c_order = word("False");
                if (order || (!in_c_order && !word("True"))) return false;
                order = true;
            } else if (key == "shape") {
                if (shaped || !dimensions(shape, count)) return false;
                shaped = true;
            } else {
                return false;
            }
            take(',');
        }
        return order && described && shaped;
    }

  private:
    void skip() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    }
    bool take(char c) {
        skip();
        if (at_ == text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    bool word(std::string_view wanted) {
        skip();
        if (text_.substr(at_, wanted.size()) != wanted) return false;
        at_ += wanted.size();
        return true;
    }
    bool quoted(std::string_view& value) {
        if (!take('\'')) return false;
        const size_t end = text_.find('\'', at_);
        if (end == std::string_view::npos) return false;
        value = text_.substr(at_, end - at_);
        at_ = end + 1;
        return true;
    }
    bool dimensions(std::vector<int32_t>& shape, size_t& count) {
        constexpr uint64_t kMost = INT32_MAX;
        uint64_t total = 1;
        if (!take('(')) return false;
        while (!take(')')) {
            skip();
            uint64_t n = 0;
            const size_t start = at_;
            for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
                n = 10 * n + static_cast<uint64_t>(text_[at_] - '0');
                if (n > kMost) return false;
            }
            if (at_ == start || shape.size() == kMostDimensions) return false;
            shape.push_back(static_cast<int32_t>(n));
            total *= n;
            if (total > kMost) return false;
            take(',');
        }
        count = static_cast<size_t>(total);
        return true;
    }

    std::string_view text_;
    size_t at_ = 0;
};

[[noreturn]] void fail(const std::string& path, const std::string& problem) {
    throw std::runtime_error(path + ": " + problem);
}

}  // namespace

Array read_npy(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    file.peek();  // of a folder, too, only reading fails
    if (!file && !file.eof()) fail(path, std::string("cannot be read: ") + std::strerror(errno));
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
    const std::string_view text(bytes.data(), bytes.size());
    if (text.substr(0, kMagic.size()) != kMagic || text.size() < 12)
        fail(path, "is not a .npy file");
    // Version 1 has a length of 2 bytes, later ones of 4.
    const size_t version = static_cast<uint8_t>(text[6]), width = version == 1 ? 2 : 4;
    if (version < 1 || version > 3) fail(path, "is a .npy file of an unknown version");
    size_t length = 0;
    for (size_t i = 0; i < width; ++i) length |= size_t{static_cast<uint8_t>(text[8 + i])} << 8 * i;
    const size_t start = 8 + width;
    if (length > text.size() - start) fail(path, "ends inside its header");
    const Type* type = nullptr;
    Array array;
    size_t count = 0;
    std::string_view name;
    bool in_c_order = true;
    if (!Header(text.substr(start, length)).read(name, type, in_c_order, array.shape, count))
        fail(path, "has a header that is damaged");
    if (!in_c_order) fail(path, "is in Fortran order; save numpy.ascontiguousarray(array)");
    if (type == nullptr) {
        std::string known;
        for (const Type& one : kTypes) known += std::string(known.empty() ? "" : ", ") + one.name;
        fail(path, "has elements of type '" + std::string(name) + "', which is none of " + known);
    }
    const std::string_view data = text.substr(start + length);
    if (data.size() != count * type->size)
        fail(path, "has " + std::to_string(data.size()) + " bytes of data; its header says " +
                       std::to_string(count * type->size));
    array.type = type->type;
    array.data.assign(data.begin(), data.end());
    return array;
}

void write_npy(const std::string& path, const Array& array) {
    const Type* type = nullptr;
    for (const Type& known : kTypes)
        if (type == nullptr && known.type == array.type) type = &known;
    if (type == nullptr) fail(path, "cannot be written: .npy has no such data type");
    std::string header =
        std::string("{'descr': '") + type->name + "', 'fortran_order': False, 'shape': (";
    for (const int32_t n : array.shape) header += std::to_string(n) + ", ";
    header += "), }";
    constexpr size_t kPrefix = 10,
                     kAlignment = 64;  // version 1; the data begins at a multiple of 64
    header.append(kAlignment - (kPrefix + header.size() + 1) % kAlignment, ' ');
    header += '\n';
    std::string out(kMagic);
    out += {'\x01', '\x00', static_cast<char>(header.size() & 0xFF),
            static_cast<char>(header.size() >> 8)};
    out += header;
    out.append(reinterpret_cast<const char*>(array.data.data()), array.data.size());
    write_file(path, out.data(), out.size());
}

void write_file(const std::string& path, const void* data, size_t size) {
    std::string temporary = path + ".XXXXXX";
    const int descriptor = mkstemp(temporary.data());
    if (descriptor < 0) fail(path, std::string("cannot be written: ") + std::strerror(errno));
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(fdopen(descriptor, "wb"),
                                                               std::fclose);
    const bool written = file != nullptr && std::fwrite(data, 1, size, file.get()) == size &&
                         std::fflush(file.get()) == 0 && fchmod(descriptor, 0644) == 0;
    if (written && std::rename(temporary.c_str(), path.c_str()) == 0) return;
    const std::string problem = std::strerror(errno);
    std::remove(temporary.c_str());
    fail(path, "cannot be written: " + problem);
}

}  // namespace arm_runtime
