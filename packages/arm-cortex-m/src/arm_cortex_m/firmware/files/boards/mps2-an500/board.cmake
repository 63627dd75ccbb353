# Arm MPS2 with the FPGA image AN500 (Cortex-M7, no NPU), as QEMU has it (-M mps2-an500).
include(boards/cortex-m/firmware.cmake)
cortex_m_firmware("${CMAKE_CURRENT_LIST_DIR}")
target_sources(firmware PRIVATE boards/cortex-m/semihosting.c)
set(MODEL_WORKSPACE 4194304)
