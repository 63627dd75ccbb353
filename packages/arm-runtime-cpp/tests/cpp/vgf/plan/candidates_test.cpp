#include "vgf/plan/candidates.hpp"

#include <gtest/gtest.h>

namespace arm_runtime::vgf {
namespace {

Group gemm() {
    Group group;
    group.kernel = "gemm";
    group.specialization = {{20, 0}, {23, 4}};
    return group;
}

TEST(Candidates, AreChosenByKernelAndKey) {
    DeviceTraits device;
    std::string asked;
    device.variant = [&](const char* kernel, const std::string& key) {
        asked = std::string(kernel) + " " + key;
        return size_t{1};
    };
    Group group = gemm();
    EXPECT_EQ(choose_candidate(group, device, true, {7, 8}).split, 1);
    EXPECT_EQ(asked, "gemm 20=0,23=4,7,8,");
    EXPECT_EQ(group.variants.key, "20=0,23=4,7,8,");
    EXPECT_GT(group.variants.count, 1U);
}

TEST(Candidates, TheFirstChangesNothing) {
    DeviceTraits none;
    DeviceTraits unknown;
    unknown.variant = [](const char*, const std::string&) { return size_t{1000}; };
    for (const DeviceTraits& device : {none, unknown}) {
        Group group = gemm();
        const Candidate& chosen = choose_candidate(group, device, true, {});
        EXPECT_EQ(chosen.rows, 0);
        EXPECT_EQ(chosen.split, 0);
        EXPECT_TRUE(chosen.dot);
    }
}

TEST(Candidates, FloatsAndOtherKernelsHaveNoVariants) {
    Group floats = gemm();
    choose_candidate(floats, {}, false, {});
    EXPECT_EQ(floats.variants.count, 0U);
    Group other = gemm();
    other.kernel = "depthwise";
    choose_candidate(other, {}, true, {});
    EXPECT_EQ(other.variants.count, 0U);
}

TEST(Candidates, PowersStayWithinBounds) {
    EXPECT_EQ(scaled(4, 1, 8), 8U);
    EXPECT_EQ(scaled(8, 1, 8), 8U);
    EXPECT_EQ(scaled(2, -2, 8), 1U);
}

}  // namespace
}  // namespace arm_runtime::vgf
