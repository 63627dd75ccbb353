# Sets executorch_folder to that of the executorch package of the Python on PATH, or to nothing.
find_package(Python COMPONENTS Interpreter QUIET)
set(executorch_folder "")
if(Python_FOUND)
  # Found, not imported: the import takes seconds.
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c
            "import importlib.util as u; print(u.find_spec('executorch').submodule_search_locations[0])"
    OUTPUT_VARIABLE executorch_folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
