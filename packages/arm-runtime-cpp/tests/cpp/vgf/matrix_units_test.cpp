#include "vgf/matrix_units.hpp"

#include <gtest/gtest.h>

namespace arm_runtime::vgf {
namespace {

constexpr VkShaderStageFlags kCompute = VK_SHADER_STAGE_COMPUTE_BIT;

/// One product of a device, of int8 unless it says otherwise.
MatrixProperties product(uint32_t m, uint32_t n, uint32_t k) {
    MatrixProperties out;
    out.m = m;
    out.n = n;
    out.k = k;
    out.a = out.b = MatrixType::kInt8;
    out.c = out.result = MatrixType::kInt32;
    out.scope = kMatrixOfSubgroup;
    return out;
}

MatrixProperties of_floats(MatrixProperties given, MatrixType sum) {
    given.a = given.b = MatrixType::kFloat16;
    given.c = given.result = sum;
    return given;
}

TEST(MatrixUnits, AreTheLargestProductsThatKernelsTake) {
    const MatrixUnits units =
        units_of({product(16, 16, 16), product(16, 16, 32), product(16, 8, 32), product(16, 16, 64),
                  of_floats(product(16, 16, 8), MatrixType::kFloat32),
                  of_floats(product(16, 16, 16), MatrixType::kFloat16)},
                 kCompute, {32, 32});
    EXPECT_EQ(units.subgroup, 32U);
    EXPECT_EQ(units.int8, 32U);
    EXPECT_EQ(units.fp16, 16U) << "a sum of float16 is not precise enough";
}

TEST(MatrixUnits, AreNoneOfOtherProducts) {
    MatrixProperties saturating = product(16, 16, 32);
    saturating.saturates = VK_TRUE;
    MatrixProperties of_workgroup = product(16, 16, 32);
    of_workgroup.scope = 2;
    for (const MatrixProperties& other : {saturating, of_workgroup, product(8, 8, 32)}) {
        EXPECT_EQ(units_of({other}, kCompute, {32, 32}).int8, 0U);
    }
    EXPECT_EQ(units_of({}, kCompute, {32, 32}).fp16, 0U);
}

TEST(MatrixUnits, AreThoseOfComputeShaders) {
    const VkShaderStageFlags fragments = VK_SHADER_STAGE_FRAGMENT_BIT;
    EXPECT_EQ(units_of({product(16, 16, 32)}, fragments, {32, 32}).int8, 0U);
    EXPECT_EQ(units_of({product(16, 16, 32)}, fragments | kCompute, {32, 32}).int8, 32U);
}

TEST(MatrixUnits, NeedSubgroupsThatKernelsTake) {
    for (const uint32_t threads : {8U, 16U, 32U, 64U, 128U}) {
        EXPECT_EQ(units_of({product(16, 16, 32)}, kCompute, {threads, threads}).subgroup, threads);
    }
    // Of none, too few for a row of pieces, more than a workgroup has, or of several sizes.
    for (const Subgroups& others :
         {Subgroups{0, 0}, {4, 4}, {24, 24}, {256, 256}, {8, 32}, {32, 64}}) {
        const MatrixUnits units = units_of({product(16, 16, 32)}, kCompute, others);
        EXPECT_EQ(units.int8, 0U) << others.least << " to " << others.most;
        EXPECT_EQ(units.subgroup, 0U) << others.least << " to " << others.most;
    }
}

}  // namespace
}  // namespace arm_runtime::vgf
