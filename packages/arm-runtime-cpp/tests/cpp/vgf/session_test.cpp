#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>

#include "arm_runtime/vgf.hpp"
#include "small_vgf.hpp"

/// llvmpipe leaks 48 bytes for every pipeline; see tests/vgf/test_sanitizers.py. The sanitizer's
/// library looks it up by name.
extern "C" __attribute__((visibility("default"))) const char*
__lsan_default_suppressions() {  // NOLINT: the sanitizer's name
    return "leak:libvulkan_lvp.so\n";
}

namespace arm_runtime::vgf {
namespace {

Options compute() {
    Options options;
    options.engine = EngineKind::kCompute;
    return options;
}

/// A session of y = x + x for i32[4], whose file is gone.
class SessionTest : public testing::Test {
  protected:
    void SetUp() override {
        try {
            find_device(compute());
        } catch (const Error& error) {  // it says what to install
            GTEST_SKIP() << error.what();
        }
    }

    static Session opened() {
        std::string bytes = SmallVgf().bytes();
        Session session(bytes.data(), bytes.size(), compute());
        std::memset(bytes.data(), 0xa5, bytes.size());
        return session;
    }

    /// What a run with these arguments says; "" if it ran.
    static std::string problem(Session& session, const Argument& x, const Argument& y) {
        try {
            session.run(&x, 1, &y, 1);
            return "";
        } catch (const Error& error) {
            return error.what();
        }
    }

    const int64_t shape_[1] = {4};
    int32_t x_[4] = {1, -2, 3, 1 << 30};
    int32_t y_[4] = {};
    const Argument in_{x_, DataType::kInt32, shape_, 1};
    const Argument out_{y_, DataType::kInt32, shape_, 1};
};

TEST_F(SessionTest, RunsWhenItsFileIsGone) {
    Session session = opened();
    EXPECT_EQ(session.inputs().at(0).name, "x");
    EXPECT_EQ(session.outputs().at(0).bytes, 16U);
    for (int run = 0; run < 2; ++run) {
        ASSERT_EQ(problem(session, in_, out_), "");
        const int32_t wanted[4] = {2, -4, 6, std::numeric_limits<int32_t>::min()};  // it wraps
        EXPECT_EQ(std::memcmp(y_, wanted, sizeof(y_)), 0) << "in run " << run;
        std::memset(y_, 0, sizeof(y_));
    }
    EXPECT_NE(session.plan().find("ADD"), std::string::npos) << session.plan();
}

TEST_F(SessionTest, AnArgumentThatDoesNotFitIsNamedAndTheSessionGoesOn) {
    Session session = opened();
    const int64_t three[1] = {3};
    int64_t wide[4] = {1, 2, int64_t{1} << 31, 4};
    struct Row {
        Argument x, y;
        const char* problem;
    };
    const Row rows[] = {
        {{x_, DataType::kInt16, shape_, 1}, out_, "input 0 ('x') is int32, got int16"},
        {{x_, DataType::kInt32, three, 1}, out_, "input 0 ('x') has shape [4], got [3]"},
        {{x_, DataType::kInt32, nullptr, 1}, out_, "input 0 ('x') has no shape"},
        {{nullptr, DataType::kInt32, shape_, 1}, out_, "input 0 ('x') has no memory"},
        {in_, {y_, DataType::kInt32, three, 1}, "output 0 ('y') has shape [4], got [3]"},
        {in_, {nullptr, DataType::kInt32, shape_, 1}, "output 0 ('y') has no memory"},
        {{wide, DataType::kInt64, shape_, 1},
         out_,
         "input 0 ('x') holds 2147483648, which int32, the program's type, cannot"},
    };
    for (const Row& row : rows) {
        EXPECT_EQ(problem(session, row.x, row.y), row.problem);
        EXPECT_EQ(problem(session, in_, out_), "") << "after: " << row.problem;
    }
    EXPECT_THROW(session.run(&in_, 1, &out_, 0), Error);
    EXPECT_THROW(session.set_push_constants(0, x_, 4), Error) << "the program takes none";
}

TEST_F(SessionTest, SessionsOfOneFileAreApart) {
    Session first = opened();
    {
        Session second = opened();
        ASSERT_EQ(problem(second, in_, out_), "");
    }
    x_[0] = 10;
    ASSERT_EQ(problem(first, in_, out_), "") << "another session has ended";
    EXPECT_EQ(y_[0], 20);
}

TEST_F(SessionTest, AFileThatIsWrongIsRefused) {
    SmallVgf vgf;
    vgf.entry_point = "other";
    const std::string bytes = vgf.bytes();
    EXPECT_THROW(Session(bytes.data(), bytes.size(), compute()), Error);
    EXPECT_THROW(Session(nullptr, 0, compute()), Error);
}

}  // namespace
}  // namespace arm_runtime::vgf
