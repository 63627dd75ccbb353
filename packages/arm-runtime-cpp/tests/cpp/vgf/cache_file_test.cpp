#include "vgf/cache_file.hpp"

#include <gtest/gtest.h>

#include "temporary_folder.hpp"

namespace arm_runtime::vgf {
namespace {

using Data = std::vector<char>;

TEST(CacheFile, ReadsWhatWasWrittenLast) {
    const TemporaryFolder folder;
    const CacheFile file(folder / "new" / "cache");
    EXPECT_EQ(file.read(), Data{}) << "there is none yet";
    ASSERT_TRUE(file.write({'o', 'l', 'd', 'e', 'r'}));
    ASSERT_TRUE(file.write({'n', 'e', 'w'}));
    EXPECT_EQ(file.read(), (Data{'n', 'e', 'w'}));
    EXPECT_EQ(folder.files(), 1) << "the folder that was made";
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "new"), {}), 1)
        << "the temporary file was renamed";
}

TEST(CacheFile, AnEmptyOneIsAFileToo) {
    const TemporaryFolder folder;
    const CacheFile file(folder / "cache");
    EXPECT_TRUE(file.write({}));
    EXPECT_EQ(file.read(), Data{});
    EXPECT_EQ(contents(folder / "cache").size(), 8) << "its checksum";
}

TEST(CacheFile, ADamagedFileIsNoFile) {
    const TemporaryFolder folder;
    const CacheFile file(folder / "cache");
    ASSERT_TRUE(file.write({'d', 'a', 't', 'a'}));
    const Data sound = contents(folder / "cache");
    for (size_t i = 0; i < sound.size(); ++i) {
        Data flipped = sound;
        flipped[i] = static_cast<char>(flipped[i] ^ 1);
        put(folder / "cache", flipped);
        EXPECT_EQ(file.read(), Data{}) << "byte " << i;
        put(folder / "cache", Data(sound.begin(), sound.begin() + static_cast<ptrdiff_t>(i)));
        EXPECT_EQ(file.read(), Data{}) << "cut to " << i << " bytes";
    }
    put(folder / "cache", sound);
    EXPECT_EQ(file.read(), (Data{'d', 'a', 't', 'a'})) << "the control";
}

TEST(CacheFile, AFailureToWriteLeavesWhatWasThere) {
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder / "cache");
    put(folder / "cache" / "in it", {'x'});
    EXPECT_FALSE(CacheFile(folder / "cache").write({'a'})) << "a folder has its name";
    EXPECT_EQ(folder.files(), 1) << "no temporary file stays";
    EXPECT_FALSE(CacheFile(folder / "cache" / "in it" / "below").write({'a'})) << "no folder";
    EXPECT_EQ(contents(folder / "cache" / "in it"), (Data{'x'}));
}

TEST(CacheFile, WhatIsNoFileIsNotRead) {
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder / "folder");
    EXPECT_EQ(CacheFile(folder / "folder").read(), Data{});
    std::filesystem::create_symlink("/dev/zero", folder / "endless");
    EXPECT_EQ(CacheFile(folder / "endless").read(), Data{});
    put(folder / "large", {'x'});
    std::filesystem::resize_file(folder / "large", uintmax_t{1} << 33);
    EXPECT_EQ(CacheFile(folder / "large").read(), Data{});
}

TEST(CacheFile, WithoutAPathKeepsNothing) {
    EXPECT_FALSE(CacheFile({}).write({'a'}));
    EXPECT_EQ(CacheFile({}).read(), Data{});
}

TEST(CacheFile, ChecksumIsFnv1a) {
    // Of the authors' own test vectors (http://www.isthe.com/chongo/tech/comp/fnv).
    EXPECT_EQ(checksum("", 0), 0xcbf29ce484222325);
    EXPECT_EQ(checksum("a", 1), 0xaf63dc4c8601ec8c);
    EXPECT_EQ(checksum("foobar", 6), 0x85944171f73967e8);
}

}  // namespace
}  // namespace arm_runtime::vgf
