# What Cortex-M gets: the delegate as an archive, to link whole with an ExecuTorch runtime built for the same core, over
# the core driver of Ethos-U (its headers' folder in ETHOSU_CORE_DRIVER_INCLUDE_DIR) or over the functional model.

set(ETHOSU_CORE_DRIVER_INCLUDE_DIR "" CACHE PATH "Folder of ethosu_driver.h; empty: run on the functional model")
set(EXECUTORCH_INCLUDE_DIR "" CACHE PATH "Folder that holds executorch/runtime; empty: that of the Python package")
if(NOT EXECUTORCH_INCLUDE_DIR)
  # The package's headers serve any processor; its libraries are the host's.
  include(ArmRuntimePythonPackage)
  arm_runtime_python_package(executorch executorch_folder)
  set(EXECUTORCH_INCLUDE_DIR "${executorch_folder}/include")
endif()
if(NOT EXISTS "${EXECUTORCH_INCLUDE_DIR}/executorch/runtime/backend/interface.h")
  message(FATAL_ERROR "No ExecuTorch headers in EXECUTORCH_INCLUDE_DIR=${EXECUTORCH_INCLUDE_DIR}: pip install executorch")
endif()

add_library(arm_runtime_ethosu STATIC src/ethosu/delegate/backend.cpp)
if(ETHOSU_CORE_DRIVER_INCLUDE_DIR)
  if(NOT EXISTS "${ETHOSU_CORE_DRIVER_INCLUDE_DIR}/ethosu_driver.h")
    message(FATAL_ERROR "No ethosu_driver.h in ETHOSU_CORE_DRIVER_INCLUDE_DIR=${ETHOSU_CORE_DRIVER_INCLUDE_DIR}")
  endif()
  target_sources(arm_runtime_ethosu PRIVATE src/ethosu/delegate/open_on_core_driver.cpp)
  target_include_directories(arm_runtime_ethosu SYSTEM PRIVATE "${ETHOSU_CORE_DRIVER_INCLUDE_DIR}")
else()
  target_sources(arm_runtime_ethosu PRIVATE src/ethosu/delegate/open_on_model.cpp)
endif()
target_include_directories(arm_runtime_ethosu SYSTEM PUBLIC
  "${EXECUTORCH_INCLUDE_DIR}" "${EXECUTORCH_INCLUDE_DIR}/executorch/runtime/core/portable_type/c10")
target_compile_definitions(arm_runtime_ethosu PUBLIC C10_USING_CUSTOM_GENERATED_MACROS)
target_link_libraries(arm_runtime_ethosu PUBLIC arm_ethosu_network)
target_compile_options(arm_runtime_ethosu PRIVATE -fno-exceptions -fno-rtti)
if(ARM_RUNTIME_INSTALL)
  install(TARGETS arm_runtime_ethosu arm_ethosu_network arm_ethosu_model
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

get_filename_component(toolchain_folder "${CMAKE_CXX_COMPILER}" DIRECTORY)
find_program(SIZE_TOOL arm-none-eabi-size HINTS "${toolchain_folder}" REQUIRED)
add_custom_target(sizes ALL
  COMMAND "${SIZE_TOOL}" --totals
    $<TARGET_FILE:arm_runtime_ethosu> $<TARGET_FILE:arm_ethosu_network> $<TARGET_FILE:arm_ethosu_model>
  COMMENT "Bytes of code and data:" VERBATIM)
