#include "vgf/matrix_units.hpp"

#include <gtest/gtest.h>

namespace arm_runtime::vgf {
namespace {

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
                 32);
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
        EXPECT_EQ(units_of({other}, 32).int8, 0U);
    }
    EXPECT_EQ(units_of({}, 32).fp16, 0U);
}

}  // namespace
}  // namespace arm_runtime::vgf
