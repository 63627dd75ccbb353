# Finds ExecuTorch: where executorch_DIR says, else in the Python on PATH.
include("${CMAKE_CURRENT_LIST_DIR}/ArmRuntimePythonPackage.cmake")
set(folder "")
if(NOT executorch_DIR)
  arm_runtime_python_package(executorch folder)
endif()
find_package(executorch 1.5 QUIET CONFIG HINTS "${folder}")
