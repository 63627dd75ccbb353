set(CMAKE_SYSTEM_PROCESSOR cortex-m4)
set(core_flags "-mfpu=fpv4-sp-d16 -mfloat-abi=hard")
include("${CMAKE_CURRENT_LIST_DIR}/../cortex-m/toolchain.cmake")
