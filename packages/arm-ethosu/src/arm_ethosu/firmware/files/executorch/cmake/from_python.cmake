# The runtime of the Python packages: sets runtime_libraries and functional_model_bytes.
if(NOT arm_runtime_DIR)
  find_package(Python COMPONENTS Interpreter QUIET)
  if(Python_FOUND)
    # Found, not imported: the import may take seconds.
    execute_process(
      COMMAND "${Python_EXECUTABLE}" -c
              "import importlib.util as u; print(u.find_spec('arm_runtime').submodule_search_locations[0])"
      OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(folder)
      set(arm_runtime_DIR "${folder}/lib/cmake/arm_runtime" CACHE PATH "Folder of arm_runtimeConfig.cmake")
    endif()
  endif()
endif()
find_package(arm_runtime QUIET CONFIG)
if(NOT arm_runtime_FOUND)
  message(FATAL_ERROR "No arm_runtime to run on this machine (${arm_runtime_NOT_FOUND_MESSAGE}): install executorch and arm-runtime-cpp, and put "
                      "their Python on PATH or give -DPython_EXECUTABLE= or -Darm_runtime_DIR=. For a Cortex-M give -DCMAKE_TOOLCHAIN_FILE=, "
                      "-DEXECUTORCH_ROOT= and -DARM_RUNTIME_ROOT=")
endif()
set(runtime_libraries arm_runtime::ethosu executorch::runtime)
if(portable_kernels)
  list(APPEND runtime_libraries executorch::kernels_optimized)
endif()
if(quantized_kernels)
  list(APPEND runtime_libraries executorch::kernels_quantized)
endif()
# Besides two copies of the scratch memory: a workspace for each thread, and 4 MiB of fast memory twice. Pages that
# nothing touches cost nothing here.
set(functional_model_bytes 134217728)
