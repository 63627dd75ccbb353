# Fill in: your core, as GCC's -mcpu calls it, and its floating point unit (-mfloat-abi=soft if it has none).
set(CMAKE_SYSTEM_PROCESSOR cortex-m55)
set(core_flags "-mfloat-abi=hard")
include("${CMAKE_CURRENT_LIST_DIR}/../cortex-m/toolchain.cmake")
