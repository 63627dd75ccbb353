set(CMAKE_SYSTEM_PROCESSOR cortex-m7)
set(core_flags "-mfpu=fpv5-d16 -mfloat-abi=hard")
include("${CMAKE_CURRENT_LIST_DIR}/../cortex-m/toolchain.cmake")
