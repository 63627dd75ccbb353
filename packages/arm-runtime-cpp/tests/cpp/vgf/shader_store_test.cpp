#include "vgf/shader_store.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "temporary_folder.hpp"

namespace arm_runtime::vgf {
namespace {

using Code = std::vector<uint32_t>;
constexpr ShaderKey kOne = {1, 10}, kOther = {1, 11};

TEST(ShaderStore, KeepsShadersFromOneProcessToTheNext) {
    const TemporaryFolder folder;
    ShaderStore first(CacheFile(folder / "shaders"));
    EXPECT_EQ(first.find(kOne), nullptr);
    first.add(kOne, {1, 2, 3});
    first.add(kOther, {4});
    first.save();
    const ShaderStore second(CacheFile(folder / "shaders"));
    ASSERT_NE(second.find(kOne), nullptr);
    EXPECT_EQ(*second.find(kOne), (Code{1, 2, 3}));
    ASSERT_NE(second.find(kOther), nullptr);
    EXPECT_EQ(*second.find(kOther), (Code{4}));
    EXPECT_EQ(second.find({2, 10}), nullptr);
}

TEST(ShaderStore, WritesOnlyWhatChanged) {
    const TemporaryFolder folder;
    ShaderStore store(CacheFile(folder / "shaders"));
    store.save();
    EXPECT_EQ(folder.files(), 0);
    store.add(kOne, {1});
    store.save();
    std::filesystem::remove(folder / "shaders");
    store.save();
    EXPECT_EQ(folder.files(), 0) << "nothing was added since";
}

TEST(ShaderStore, StopsAtARecordThatTheFileDoesNotHold) {
    // Files with a sound checksum, as of another version of this library.
    const auto file_of = [](const std::vector<uint64_t>& words) {
        std::vector<char> data(words.size() * sizeof(uint64_t));
        std::memcpy(data.data(), words.data(), data.size());
        return data;
    };
    struct Row {
        const char* name;
        std::vector<char> data;
        bool one, other;
    };
    const Row rows[] = {
        {"two records", file_of({1, 10, 2, 7, 1, 11, 2, 8}), true, true},
        {"the second without words", file_of({1, 10, 2, 7, 1, 11, 0}), true, false},
        {"the second cut", file_of({1, 10, 2, 7, 1, 11, 3, 8}), true, false},
        {"half a record", file_of({1, 10, 2, 7, 1, 11}), true, false},
        {"a length that wraps", file_of({1, 10, uint64_t{1} << 62, 7}), false, false},
        {"the longest length", file_of({1, 10, UINT64_MAX, 7}), false, false},
    };
    for (const Row& row : rows) {
        const TemporaryFolder folder;
        const CacheFile file(folder / "shaders");
        ASSERT_TRUE(file.write(row.data));
        const ShaderStore store(file);
        EXPECT_EQ(store.find(kOne) != nullptr, row.one) << row.name;
        EXPECT_EQ(store.find(kOther) != nullptr, row.other) << row.name;
    }
}

TEST(ShaderStore, KeysTellCodeApart) {
    const Code code = {1, 2, 3, 4}, changed = {1, 2, 3, 5}, swapped = {1, 3, 2, 4};
    const ShaderKey key = key_of(code.data(), 4);
    EXPECT_EQ(key, key_of(Code(code).data(), 4));
    EXPECT_NE(key, key_of(code.data(), 3));
    EXPECT_NE(key, key_of(changed.data(), 4));
    EXPECT_NE(key, key_of(swapped.data(), 4));
}

}  // namespace
}  // namespace arm_runtime::vgf
