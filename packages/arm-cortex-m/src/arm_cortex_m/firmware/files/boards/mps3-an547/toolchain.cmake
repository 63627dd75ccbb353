set(CMAKE_SYSTEM_PROCESSOR cortex-m55)
set(core_flags "-mfloat-abi=hard")
include("${CMAKE_CURRENT_LIST_DIR}/../cortex-m/toolchain.cmake")
