#include "vgf/parsed_file.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "small_vgf.hpp"

namespace arm_runtime::vgf {
namespace {

constexpr auto kCompute = mlsdk::vgflib::ModuleType::COMPUTE;

/// Whether a file's bytes hold what `data` points to.
bool holds(const std::string& file, const void* data) {
    const auto* const at = static_cast<const char*>(data);
    return at >= file.data() && at < file.data() + file.size();
}

TEST(ParsedFile, AGraphAndItsConstants) {
    const std::string bytes = SmallVgf().bytes();
    const ParsedFile file = read_file(bytes.data(), bytes.size());
    ASSERT_EQ(file.program.resources.size(), 3U);
    EXPECT_EQ(file.program.inputs.at(0).name, "x");
    EXPECT_EQ(file.program.outputs.at(0).resource, 1U);
    ASSERT_EQ(file.program.segments.size(), 1U);
    const Segment& segment = file.program.segments[0];
    EXPECT_EQ(segment.name, "add");
    ASSERT_NE(segment.graph(), nullptr) << "the segment is a graph";
    EXPECT_EQ(segment.shader(), nullptr);
    ASSERT_EQ(segment.graph()->constants.size(), 1U);
    EXPECT_EQ(segment.graph()->constants[0].id, 7U);
    EXPECT_EQ(segment.graph()->constants[0].resource, 2U);
    ASSERT_EQ(file.code.size(), 1U) << "one for each segment";
    EXPECT_EQ(Words(file.code[0].words, file.code[0].words + file.code[0].count),
              add_module::code());
    ASSERT_EQ(file.code[0].constants.size(), 1U) << "one for each constant of the graph";
    EXPECT_EQ(std::memcmp(file.code[0].constants[0], "\1\2\3", 3), 0);
}

TEST(ParsedFile, CodeStaysInTheFileUnlessThatIsNotAligned) {
    const std::string bytes = SmallVgf().bytes();
    for (const size_t off : {size_t{0}, size_t{1}}) {
        std::string moved = std::string(off, ' ') + bytes;
        const ParsedFile file = read_file(moved.data() + off, bytes.size());
        EXPECT_EQ(holds(moved, file.code[0].words), off == 0) << off << " bytes off";
        EXPECT_EQ(file.copy.empty(), off == 0) << off << " bytes off";
    }
}

TEST(ParsedFile, TheProgramOutlivesTheFile) {
    std::optional<std::string> bytes = SmallVgf().bytes();
    std::optional<ParsedFile> file = read_file(bytes->data(), bytes->size());
    const Program program = file->program;
    file.reset();
    bytes.reset();
    EXPECT_EQ(program.segments.at(0).name, "add");
    EXPECT_EQ(program.inputs.at(0).name, "x");
    EXPECT_EQ(program.resources.at(2).shape, std::vector<int64_t>{3});
}

TEST(ParsedFile, AShaderHasGroupsAndNoGraph) {
    SmallVgf vgf;
    vgf.type = kCompute;
    vgf.words = empty_shader();
    vgf.groups = {3, 2, 1};
    const std::string bytes = vgf.bytes();
    const ParsedFile file = read_file(bytes.data(), bytes.size());
    const Segment& segment = file.program.segments.at(0);
    EXPECT_EQ(segment.graph(), nullptr);
    ASSERT_NE(segment.shader(), nullptr) << "the segment is a shader";
    EXPECT_EQ(segment.shader()->groups, (std::array<uint32_t, 3>{3, 2, 1}));
    EXPECT_EQ(segment.shader()->capabilities, std::set<uint32_t>{spv::CapabilityShader});
    EXPECT_EQ(segment.push().bytes, 0U);
    EXPECT_FALSE(file.program.takes_push_constants());
}

TEST(ParsedFile, WhatIsWrongIsSaid) {
    struct Row {
        const char* problem;
        SmallVgf vgf;
    };
    std::vector<Row> rows(6);
    rows[0].problem = "VGF segment 0 ('add'): its code has no entry point 'other'";
    rows[0].vgf.entry_point = "other";
    rows[1].problem = "VGF segment 0 ('add'): set 0, binding 1: resource 9 of 3";
    rows[1].vgf.output_resource = 9;
    rows[2].problem = "VGF resource 0: its shape [0] is out of range";
    rows[2].vgf.shape = {0};
    rows[3].problem = "VGF segment 0 ('add'): graph constant 7 is there twice";
    rows[3].vgf.constant_twice = true;
    rows[4].problem = "VGF segment 0 ('add'): 0 work groups along axis 0";
    rows[4].vgf.type = kCompute;
    rows[4].vgf.words = empty_shader();
    rows[5].vgf.output_resource = 2;
    rows[5].problem = "VGF output 0: resource 2 is no output";
    for (const Row& row : rows) {
        const std::string bytes = row.vgf.bytes();
        try {
            read_file(bytes.data(), bytes.size());
            ADD_FAILURE() << "nothing was wrong, instead of '" << row.problem << "'";
        } catch (const Error& error) {
            EXPECT_EQ(std::string(error.what()).substr(0, std::strlen(row.problem)), row.problem);
        }
    }
    EXPECT_THROW(read_file("VGF", 3), Error);
}

}  // namespace
}  // namespace arm_runtime::vgf
