# Finds ExecuTorch: where CMAKE_PREFIX_PATH or executorch_DIR says, else the package of the Python on PATH.

option(ARM_RUNTIME_REQUIRE_EXECUTORCH "Stop if there is no ExecuTorch to build the delegates for" OFF)
if(NOT executorch_DIR)
  find_package(Python COMPONENTS Interpreter QUIET)
  if(Python_FOUND)
    # Found, not imported: the import takes seconds.
    execute_process(
      COMMAND "${Python_EXECUTABLE}" -c
              "import importlib.util as u; s = u.find_spec('executorch'); print(*s.submodule_search_locations, sep=';')"
      OUTPUT_VARIABLE executorch_folders OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    list(APPEND CMAKE_PREFIX_PATH ${executorch_folders})
  endif()
endif()
find_package(executorch 1.5 QUIET CONFIG)
if(NOT executorch_FOUND AND ARM_RUNTIME_REQUIRE_EXECUTORCH)
  message(FATAL_ERROR "The delegates need ExecuTorch 1.5: pip install executorch, and build with pip install "
                      "--no-build-isolation; or set executorch_DIR to the folder of executorch-config.cmake")
elseif(NOT executorch_FOUND)
  message(STATUS "No ExecuTorch: the delegates and arm_runner are not built")
endif()
