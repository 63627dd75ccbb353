# ExecuTorch and the delegate for your core: sets runtime_libraries and functional_model_bytes.
if(NOT EXISTS "${ARM_RUNTIME_ROOT}/cmake/ArmRuntimeBareMetal.cmake")
  message(FATAL_ERROR "ARM_RUNTIME_ROOT=${ARM_RUNTIME_ROOT} is not packages/arm-runtime-cpp: it has no cmake/ArmRuntimeBareMetal.cmake")
endif()
if(NOT CMAKE_SYSTEM_NAME STREQUAL "Generic")
  message(FATAL_ERROR "EXECUTORCH_ROOT is for a core without an operating system, and this builds for ${CMAKE_SYSTEM_NAME}: give "
                      "-DCMAKE_TOOLCHAIN_FILE=, or leave EXECUTORCH_ROOT out to build for this machine")
endif()

if(EXISTS "${EXECUTORCH_ROOT}/CMakeLists.txt")
  # A checkout: its libraries are built here, with the portable kernels of the program alone.
  set(EXECUTORCH_BUILD_EXECUTOR_RUNNER OFF CACHE BOOL "")
  set(EXECUTORCH_BUILD_EXTENSION_FLAT_TENSOR OFF CACHE BOOL "")
  set(EXECUTORCH_BUILD_EXTENSION_DATA_LOADER OFF CACHE BOOL "")  # BufferDataLoader is a header
  set(EXECUTORCH_BUILD_CPUINFO OFF CACHE BOOL "")
  set(EXECUTORCH_BUILD_PTHREADPOOL OFF CACHE BOOL "")
  set(EXECUTORCH_USE_DL OFF CACHE BOOL "")
  set(EXECUTORCH_PAL_DEFAULT minimal CACHE STRING "")
  set(EXECUTORCH_SELECT_OPS_LIST "${portable_kernels}" CACHE STRING "")
  set(MAX_KERNEL_NUM 128 CACHE STRING "Kernels that ExecuTorch's table has room for: its own, portable and quantized ones")
  if(quantized_kernels)
    set(EXECUTORCH_BUILD_KERNELS_QUANTIZED ON CACHE BOOL "")
  endif()
  add_subdirectory("${EXECUTORCH_ROOT}" executorch EXCLUDE_FROM_ALL)
  get_filename_component(EXECUTORCH_INCLUDE_DIR "${EXECUTORCH_ROOT}/.." ABSOLUTE)  # "executorch/runtime/..."
  set(portable_library executorch_kernels)
else()
  # A folder that ExecuTorch was installed to. Its kernels are those that were selected when it was built.
  find_package(executorch QUIET CONFIG NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH
    PATHS "${EXECUTORCH_ROOT}" "${EXECUTORCH_ROOT}/lib/cmake/ExecuTorch" "${EXECUTORCH_ROOT}/lib64/cmake/ExecuTorch")
  if(NOT TARGET executorch)
    message(FATAL_ERROR "EXECUTORCH_ROOT=${EXECUTORCH_ROOT} is no checkout of ExecuTorch (no CMakeLists.txt), and nothing that was installed "
                        "from one (no lib/cmake/ExecuTorch/executorch-config.cmake with a target executorch)")
  endif()
  set(EXECUTORCH_INCLUDE_DIR "${EXECUTORCH_ROOT}/include")
  set(portable_library portable_ops_lib)
endif()
if(NOT EXISTS "${EXECUTORCH_INCLUDE_DIR}/executorch/runtime/backend/interface.h")
  message(FATAL_ERROR "No file ${EXECUTORCH_INCLUDE_DIR}/executorch/runtime/backend/interface.h: a checkout must be in a folder named executorch")
endif()

add_subdirectory("${ARM_RUNTIME_ROOT}" arm_runtime EXCLUDE_FROM_ALL)
# Whole: what registers the delegate is a variable that nothing refers to.
set(runtime_libraries "-Wl,--whole-archive,$<TARGET_FILE:arm_runtime_ethosu>,--no-whole-archive" arm_runtime_ethosu executorch)
if(portable_kernels)
  list(APPEND runtime_libraries ${portable_library})
endif()
if(quantized_kernels)
  list(APPEND runtime_libraries quantized_ops_lib)
endif()
if(ETHOSU_CORE_DRIVER_INCLUDE_DIR)
  set(functional_model_bytes 0)
else()
  set(functional_model_bytes 4194304)  # besides two copies of the scratch memory
endif()
