# arm_runtime_python_package(NAME VARIABLE): sets VARIABLE to the folder of a package of the Python on PATH, or to "".
function(arm_runtime_python_package name variable)
  find_package(Python COMPONENTS Interpreter QUIET)
  set(folder "")
  if(Python_FOUND)
    # Found, not imported: the import may take seconds.
    execute_process(
      COMMAND "${Python_EXECUTABLE}" -c
              "import importlib.util as u; print(u.find_spec('${name}').submodule_search_locations[0])"
      OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  set(${variable} "${folder}" PARENT_SCOPE)
endfunction()
