# A Cortex-M of yours. Add sources here; your chip's start-up code may take the place of boards/cortex-m/start.c.
include(boards/cortex-m/firmware.cmake)
cortex_m_firmware("${CMAKE_CURRENT_LIST_DIR}")
target_sources(firmware PRIVATE boards/generic/board.c)
set(MODEL_WORKSPACE 4194304) # bytes for the functional model, where there is no NPU
