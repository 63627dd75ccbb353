# Finds ExecuTorch: where CMAKE_PREFIX_PATH or executorch_DIR says, else the package of the Python on PATH.
option(ARM_RUNTIME_REQUIRE_EXECUTORCH "Stop if there is no ExecuTorch to build the delegates for" OFF)
if(NOT executorch_DIR)
  include("${CMAKE_CURRENT_LIST_DIR}/ArmRuntimeExecutorchFolder.cmake")
  list(APPEND CMAKE_PREFIX_PATH "${executorch_folder}")
endif()
find_package(executorch 1.5 QUIET CONFIG)
if(NOT executorch_FOUND AND ARM_RUNTIME_REQUIRE_EXECUTORCH)
  message(FATAL_ERROR "The delegates need ExecuTorch 1.5: pip install executorch, and build with pip install "
                      "--no-build-isolation; or set executorch_DIR to the folder of executorch-config.cmake")
elseif(NOT executorch_FOUND)
  message(STATUS "No ExecuTorch: the delegates and arm_runner are not built")
endif()
