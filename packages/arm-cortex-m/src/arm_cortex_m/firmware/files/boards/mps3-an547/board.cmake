# Arm MPS3 with the FPGA image AN547 (Corstone-300: Cortex-M55), as QEMU has it (-M mps3-an547).
include(boards/cortex-m/firmware.cmake)
cortex_m_firmware("${CMAKE_CURRENT_LIST_DIR}")
target_sources(firmware PRIVATE boards/cortex-m/semihosting.c)
set(MODEL_WORKSPACE 4194304)
