#include "runner/npy.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "temporary_folder.hpp"

namespace arm_runtime {
namespace {

using executorch::aten::ScalarType;

/// A file with this header, as NumPy writes it, and bytes of data.
std::vector<char> file_of(const std::string& header, size_t data, char version = 1) {
    std::string out = "\x93NUMPY";
    out += {version, '\0'};
    const size_t width = version == 1 ? 2 : 4;
    for (size_t i = 0; i < width; ++i) out += static_cast<char>(header.size() >> (8 * i) & 0xFF);
    out += header;
    for (size_t i = 0; i < data; ++i) out += static_cast<char>(i + 1);
    return {out.begin(), out.end()};
}

std::string header_of(const std::string& type, const std::string& shape) {
    return "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
}

TEST(Npy, ReadsWhatItWrites) {
    struct Row {
        const char* name;
        ScalarType type;
        size_t size;
        std::vector<int32_t> shape;
    };
    const Row rows[] = {
        {"bool", ScalarType::Bool, 1, {2}},          {"int8", ScalarType::Char, 1, {2, 3}},
        {"uint8", ScalarType::Byte, 1, {1, 1, 5}},   {"int16", ScalarType::Short, 2, {4}},
        {"uint16", ScalarType::UInt16, 2, {4}},      {"int32", ScalarType::Int, 4, {2, 2}},
        {"int64", ScalarType::Long, 8, {3}},         {"float16", ScalarType::Half, 2, {3}},
        {"float32", ScalarType::Float, 4, {2, 3}},   {"float64", ScalarType::Double, 8, {1}},
        {"bfloat16", ScalarType::BFloat16, 2, {2}},  {"a scalar", ScalarType::Float, 4, {}},
        {"no elements", ScalarType::Int, 4, {3, 0}},
    };
    const TemporaryFolder folder;
    const std::string path = folder / "array.npy";
    for (const Row& row : rows) {
        Array array;
        array.type = row.type;
        array.shape = row.shape;
        size_t bytes = row.size;
        for (const int32_t n : row.shape) bytes *= static_cast<size_t>(n);
        for (size_t i = 0; i < bytes; ++i) array.data.push_back(static_cast<uint8_t>(3 * i));
        write_npy(path, array);
        const Array read = read_npy(path);
        EXPECT_EQ(read.type, row.type) << row.name;
        EXPECT_EQ(read.shape, row.shape) << row.name;
        EXPECT_EQ(read.data, array.data) << row.name;
        EXPECT_EQ((contents(path).size() - bytes) % 64, 0) << row.name << ": where data begins";
    }
    EXPECT_EQ(folder.files(), 1) << "temporary files were renamed";
}

TEST(Npy, ReadsEachVersionOfTheFormat) {
    const TemporaryFolder folder;
    for (const char version : {'\1', '\2', '\3'}) {
        put(folder / "array.npy", file_of(header_of("<i2", "(2,)"), 4, version));
        const Array array = read_npy(folder / "array.npy");
        EXPECT_EQ(array.shape, (std::vector<int32_t>{2}));
        EXPECT_EQ(array.data, (std::vector<uint8_t>{1, 2, 3, 4}));
    }
}

TEST(Npy, SaysWhatIsWrong) {
    const std::string damaged = "has a header that is damaged";
    std::vector<char> long_header = file_of(header_of("|i1", "(1,)"), 1);
    long_header[9] = '\x7F';  // the length's upper byte
    struct Row {
        std::string problem;
        std::vector<char> file;
    };
    const auto headed = [](const std::string& header) { return file_of(header, 4); };
    const Row rows[] = {
        {"is not a .npy file", {}},
        {"is not a .npy file", {'\x93', 'N', 'U', 'M', 'P', 'Y', '\1', '\0', '\0'}},
        {"is not a .npy file", std::vector<char>(100, 'P')},
        {"is a .npy file of an unknown version", file_of(header_of("|i1", "(4,)"), 4, '\4')},
        {"is a .npy file of an unknown version", file_of(header_of("|i1", "(4,)"), 4, '\0')},
        {"ends inside its header", long_header},
        {"is in Fortran order; save numpy.ascontiguousarray(array)",
         headed("{'descr': '|i1', 'fortran_order': True, 'shape': (4,), }")},
        {"has elements of type '>f4', which is none of |b1, |i1", headed(header_of(">f4", "(1,)"))},
        {"has elements of type '', which is none of", headed(header_of("", "(1,)"))},
        {"has 4 bytes of data; its header says 5", headed(header_of("|i1", "(5,)"))},
        {"has 4 bytes of data; its header says 3", headed(header_of("|i1", "(3,)"))},
        {damaged, headed("")},
        {damaged, headed("{")},
        {damaged, headed("{'descr': '|i1', 'fortran_order': False, }")},
        {damaged, headed("{'descr': '|i1', 'shape': (4,), }")},
        {damaged, headed("{'descr': '|i1")},
        {damaged,
         headed("{'descr': '|i1', 'descr': '|i1', 'fortran_order': False, 'shape': (4,)}")},
        {damaged, headed("{'descr': '|i1', 'fortran_order': Maybe, 'shape': (4,), }")},
        {damaged, headed("{'descr': '|i1', 'fortran_order': False, 'size': (4,), }")},
        {damaged, headed(header_of("|i1", "(-4,)"))},
        {damaged, headed(header_of("|i1", "(4"))},
        {damaged, headed(header_of("|i1", "(2147483648,)"))},
        {damaged, headed(header_of("|i1", "(65536, 65536)"))},
        {damaged, headed(header_of("|i1", "(99999999999999999999999999,)"))},
        {damaged, headed(header_of("|i1", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,4)"))},
    };
    const TemporaryFolder folder;
    const std::string path = folder / "array.npy";
    for (const Row& row : rows) {
        put(path, row.file);
        try {
            read_npy(path);
            ADD_FAILURE() << "accepted, instead of: " << row.problem;
        } catch (const std::runtime_error& error) {
            const std::string wanted = path + ": " + row.problem, text = error.what();
            EXPECT_EQ(text.substr(0, wanted.size()), wanted);
        }
    }
}

TEST(Npy, ThatIsCutAnywhereIsAnError) {
    const std::vector<char> whole = file_of(header_of("|i1", "(4,)"), 4);
    const TemporaryFolder folder;
    for (size_t size = 0; size < whole.size(); ++size) {
        put(folder / "array.npy", {whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)});
        EXPECT_THROW(read_npy(folder / "array.npy"), std::runtime_error) << size << " bytes";
    }
}

TEST(Npy, SaysWhichFileCannotBeReadOrWritten) {
    const TemporaryFolder folder;
    const auto problem = [](const auto& action) -> std::string {
        try {
            action();
        } catch (const std::runtime_error& error) {
            return error.what();
        }
        return "none";
    };
    const std::string missing = folder / "missing" / "array.npy";
    EXPECT_EQ(problem([&] { read_npy(missing); }),
              missing + ": cannot be read: No such file or directory");
    EXPECT_EQ(problem([&] { write_npy(missing, {}); }),
              missing + ": cannot be written: No such file or directory");
    Array complex;
    complex.type = ScalarType::ComplexFloat;
    EXPECT_EQ(problem([&] { write_npy("x.npy", complex); }),
              "x.npy: cannot be written: .npy has no such data type");
}

}  // namespace
}  // namespace arm_runtime
