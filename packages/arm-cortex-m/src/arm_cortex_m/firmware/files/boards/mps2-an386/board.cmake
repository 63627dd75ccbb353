# Arm MPS2 with the FPGA image AN386 (Cortex-M4, no NPU), as QEMU has it (-M mps2-an386).
include(boards/cortex-m/firmware.cmake)
cortex_m_firmware("${CMAKE_CURRENT_LIST_DIR}")
target_sources(firmware PRIVATE boards/cortex-m/semihosting.c)
set(MODEL_WORKSPACE 4194304)
