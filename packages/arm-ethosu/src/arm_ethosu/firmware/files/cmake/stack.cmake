# Prints how much stack each model needs at most, from what the compiler wrote with -fstack-usage.
#
#     cmake -DOBJECTS=FOLDER -DMODELS=NAME,... -P stack.cmake
#
# NAME_run calls functions of its own file, which call nothing but memcpy and npu_run. So the bound is a sum: NAME_run, the
# largest other function of the file, npu_run.

# The largest stack, in bytes, of the functions of a file whose name matches.
function(largest file name out)
  set(most 0)
  file(STRINGS "${file}" lines REGEX ":${name}\t")
  foreach(line IN LISTS lines)
    string(REGEX MATCH ":([A-Za-z0-9_]+)\t([0-9]+)\t(.*)$" _ "${line}")
    if(NOT CMAKE_MATCH_3 STREQUAL "static")
      message(FATAL_ERROR "${CMAKE_MATCH_1} takes stack without a bound")
    endif()
    if(CMAKE_MATCH_2 GREATER most)
      set(most ${CMAKE_MATCH_2})
    endif()
  endforeach()
  set(${out} ${most} PARENT_SCOPE)
endfunction()

set(npu 0)
file(GLOB npu_files "${OBJECTS}/npu/*.su")
foreach(file IN LISTS npu_files)
  largest("${file}" "npu_run" npu)
endforeach()
string(REPLACE "," ";" MODELS "${MODELS}")
foreach(model IN LISTS MODELS)
  set(file "${OBJECTS}/models/${model}.c.su")
  largest("${file}" "${model}_run" run)
  largest("${file}" "([a-z0-9_]+_kernel[0-9]+|npu_job_[0-9]+)" step)
  math(EXPR bytes "${run} + ${step} + ${npu}")
  message(STATUS "Stack of ${model}_run: at most ${bytes} bytes, and what memcpy and the NPU's driver take")
endforeach()
