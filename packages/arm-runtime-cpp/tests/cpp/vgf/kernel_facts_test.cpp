#include "vgf/kernel_facts.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace arm_runtime::vgf {
namespace {

using Verdict = KernelFacts::Test;

class KernelFactsFile : public ::testing::Test {
  protected:
    void SetUp() override { file_.write({}); }
    void TearDown() override { std::filesystem::remove(path_); }
    void write(const std::string& text) const { file_.write({text.begin(), text.end()}); }

    std::filesystem::path path_ =
        std::filesystem::temp_directory_path() / ("kernel_facts_test." + std::to_string(getpid()));
    CacheFile file_{path_};
};

TEST_F(KernelFactsFile, AreThereAgain) {
    KernelFacts facts(file_);
    EXPECT_EQ(facts.choice("gemm", "1,").variant, 0U);
    EXPECT_EQ(facts.test("gemm", true), Verdict::kUnknown);
    facts.set_choice("gemm", "1,", {3, 10});
    facts.set_test("gemm", true, "", false);
    facts.set_test("gemm", false, "", true);
    facts.set_test("gemm", false, "fp16", true);
    facts.save();
    const KernelFacts again(file_);
    EXPECT_EQ(again.choice("gemm", "1,").variant, 3U);
    EXPECT_EQ(again.choice("gemm", "1,").tried, 10U);
    EXPECT_EQ(again.choice("gemm", "2,").tried, 1U);
    EXPECT_EQ(again.test("gemm", true), Verdict::kFailed);
    EXPECT_EQ(again.test("gemm", false), Verdict::kPassed);
    EXPECT_EQ(again.test("gemm", false, "fp16"), Verdict::kPassed);
    EXPECT_EQ(again.test("gemm", false, "fp32"), Verdict::kUnknown);
    EXPECT_EQ(again.note(), "; without gemm+dot, which this driver computes wrongly");
}

TEST_F(KernelFactsFile, OfOtherCodeOrNoneAreIgnored) {
    KernelFacts known(file_);
    known.set_test("gemm", false, "", false);
    known.save();
    const std::vector<char> data = file_.read();
    const std::string whole(data.begin(), data.end());
    const std::string line = whole.substr(whole.find('\n') + 1);
    const std::string rows[] = {
        "",                                 // nothing
        "kernel facts 2\n" + line,          // another version
        "kernel facts 1\ntest 0 gemm/1\n",  // another kernel's code
        whole + "choice 1\n",               // a word is missing
        whole + "choice one 1 gemm/1\n",    // no number
        whole + "choice -1 1 \n",           // no kernel
        whole + "test 2 gemm/1\n",          // neither passed nor failed
        whole + "guess 1 gemm/1\n",         // another kind
    };
    for (const std::string& text : rows) {
        write(text);
        EXPECT_EQ(KernelFacts(file_).test("gemm", false), Verdict::kUnknown) << text;
    }
    write(whole);
    EXPECT_EQ(KernelFacts(file_).test("gemm", false), Verdict::kFailed);
}

}  // namespace
}  // namespace arm_runtime::vgf
