// Command numbers of Ethos-U55 and Ethos-U65, and their names for faults.
#pragma once

#include <cstdint>

namespace arm_runtime::ethosu {

#define ARM_ETHOSU_OPERATIONS(X)                                                  \
    X(STOP, 0)                                                                    \
    X(IRQ, 1)                                                                     \
    X(CONV, 2)                                                                    \
    X(DEPTHWISE, 3) X(POOL, 5) X(ELEMENTWISE, 6) X(DMA_START, 16) X(DMA_WAIT, 17) \
        X(KERNEL_WAIT, 18) X(PMU_MASK, 19)

// Registers of 16 bits, set by one word.
#define ARM_ETHOSU_SHORT_REGISTERS(X)                                                              \
    X(IFM_PAD_TOP, 256)                                                                            \
    X(IFM_PAD_LEFT, 257)                                                                           \
    X(IFM_PAD_RIGHT, 258)                                                                          \
    X(IFM_PAD_BOTTOM, 259) X(IFM_DEPTH_M1, 260) X(IFM_PRECISION, 261) X(IFM_UPSCALE, 263)          \
        X(IFM_ZERO_POINT, 265) X(IFM_WIDTH0_M1, 266) X(IFM_HEIGHT0_M1, 267) X(IFM_HEIGHT1_M1, 268) \
            X(IFM_IB_END, 269) X(IFM_REGION, 271) X(OFM_WIDTH_M1, 273) X(OFM_HEIGHT_M1, 274)       \
                X(OFM_DEPTH_M1, 275) X(OFM_PRECISION, 276) X(OFM_BLK_WIDTH_M1, 277)                \
                    X(OFM_BLK_HEIGHT_M1, 278) X(OFM_BLK_DEPTH_M1, 279) X(OFM_ZERO_POINT, 280)      \
                        X(OFM_WIDTH0_M1, 282) X(OFM_HEIGHT0_M1, 283) X(OFM_HEIGHT1_M1, 284) X(     \
                            OFM_REGION, 287) X(KERNEL_WIDTH_M1, 288) X(KERNEL_HEIGHT_M1, 289)      \
                            X(KERNEL_STRIDE, 290) X(PARALLEL_MODE, 291) X(ACC_FORMAT, 292) X(      \
                                ACTIVATION, 293) X(ACTIVATION_MIN, 294) X(ACTIVATION_MAX, 295)     \
                                X(WEIGHT_REGION, 296) X(SCALE_REGION, 297) X(AB_START, 301) X(     \
                                    BLOCKDEP, 303) X(DMA0_SRC_REGION, 304) X(DMA0_DST_REGION, 305) \
                                    X(DMA0_SIZE0, 306) X(DMA0_SIZE1, 307) X(IFM2_BROADCAST, 384)   \
                                        X(IFM2_SCALAR, 385)                                        \
                                            X(IFM2_PRECISION, 389) X(IFM2_ZERO_POINT, 393)         \
                                                X(IFM2_WIDTH0_M1, 394) X(IFM2_HEIGHT0_M1, 395)     \
                                                    X(IFM2_HEIGHT1_M1, 396) X(IFM2_IB_START, 397)  \
                                                        X(IFM2_REGION, 399)

// Registers of 32 bits and a parameter, set by two words.
#define ARM_ETHOSU_LONG_REGISTERS(X)                                                               \
    X(IFM_BASE0, 0)                                                                                \
    X(IFM_BASE1, 1)                                                                                \
    X(IFM_BASE2, 2)                                                                                \
    X(IFM_BASE3, 3) X(IFM_STRIDE_X, 4) X(IFM_STRIDE_Y, 5) X(IFM_STRIDE_C, 6) X(OFM_BASE0, 16)      \
        X(OFM_BASE1, 17) X(OFM_BASE2, 18) X(OFM_BASE3, 19) X(OFM_STRIDE_X, 20) X(OFM_STRIDE_Y, 21) \
            X(OFM_STRIDE_C, 22) X(WEIGHT_BASE, 32) X(WEIGHT_LENGTH, 33) X(SCALE_BASE, 34)          \
                X(SCALE_LENGTH, 35) X(OFM_SCALE, 36) X(OPA_SCALE, 37) X(OPB_SCALE, 38)             \
                    X(DMA0_SRC, 48) X(DMA0_DST, 49) X(DMA0_LEN, 50) X(DMA0_SKIP0, 51)              \
                        X(DMA0_SKIP1, 52) X(IFM2_BASE0, 128) X(IFM2_BASE1, 129) X(IFM2_BASE2, 130) \
                            X(IFM2_BASE3, 131) X(IFM2_STRIDE_X, 132) X(IFM2_STRIDE_Y, 133)         \
                                X(IFM2_STRIDE_C, 134) X(WEIGHT1_BASE, 144) X(WEIGHT1_LENGTH, 145)  \
                                    X(SCALE1_BASE, 146) X(SCALE1_LENGTH, 147)

#define ARM_ETHOSU_ENUMERATOR(name, number) name = number,
enum class Op : uint16_t { ARM_ETHOSU_OPERATIONS(ARM_ETHOSU_ENUMERATOR) };
enum class R16 : uint16_t { ARM_ETHOSU_SHORT_REGISTERS(ARM_ETHOSU_ENUMERATOR) };
enum class R32 : uint16_t { ARM_ETHOSU_LONG_REGISTERS(ARM_ETHOSU_ENUMERATOR) };
#undef ARM_ETHOSU_ENUMERATOR

/// The name of a command of one word (an operation or a short register), or nullptr if there is
/// none.
const char* short_command_name(uint32_t code);
/// The name of a command of two words, or nullptr.
const char* long_command_name(uint32_t code);

}  // namespace arm_runtime::ethosu
