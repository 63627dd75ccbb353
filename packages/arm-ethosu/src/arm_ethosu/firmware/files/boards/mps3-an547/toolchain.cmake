# GCC for Arm's microcontrollers (Debian and Ubuntu: apt install gcc-arm-none-eabi libnewlib-arm-none-eabi).
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR cortex-m55)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # there is no system to link a program for
set(core "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard -ffunction-sections -fdata-sections")
set(CMAKE_C_FLAGS_INIT "${core}")
# __int64_t_defined: with GCC's own stdint.h before it, newlib's inttypes.h does not see that there is an int64_t.
set(CMAKE_CXX_FLAGS_INIT "${core} -D__int64_t_defined=1")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
