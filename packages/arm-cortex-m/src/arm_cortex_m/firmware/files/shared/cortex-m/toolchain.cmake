# GCC for Arm's microcontrollers (Debian and Ubuntu: apt install gcc-arm-none-eabi libnewlib-arm-none-eabi). A board's
# toolchain file sets CMAKE_SYSTEM_PROCESSOR and core_flags, then includes this one.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # there is no system to link a program for
set(flags "-mcpu=${CMAKE_SYSTEM_PROCESSOR} -mthumb ${core_flags} -ffunction-sections -fdata-sections")
set(CMAKE_C_FLAGS_INIT "${flags}")
# __int64_t_defined: with GCC's own stdint.h before it, newlib's inttypes.h does not see that there is an int64_t.
set(CMAKE_CXX_FLAGS_INIT "${flags} -D__int64_t_defined=1")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
