# find_package(arm_runtime): targets arm_runtime::ethosu and, where it was built, arm_runtime::vgf. A program that links
# one has its delegate registered when it starts. ExecuTorch is looked for as executorch_DIR says, else in the Python on
# PATH.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
if(NOT TARGET executorch::runtime)
  include("${CMAKE_CURRENT_LIST_DIR}/ArmRuntimeExecutorch.cmake")
  if(NOT executorch_FOUND)
    set(arm_runtime_FOUND FALSE)
    set(arm_runtime_NOT_FOUND_MESSAGE "arm_runtime needs ExecuTorch: pip install executorch, or set executorch_DIR")
    return()
  endif()
endif()
if(EXISTS "${CMAKE_CURRENT_LIST_DIR}/FindVgfLibrary.cmake")
  include("${CMAKE_CURRENT_LIST_DIR}/FindVgfLibrary.cmake")
endif()
include("${CMAKE_CURRENT_LIST_DIR}/arm_runtimeTargets.cmake")

foreach(delegate ethosu vgf)
  if(TARGET arm_runtime::${delegate}_archive AND NOT TARGET arm_runtime::${delegate})
    add_library(arm_runtime::${delegate} INTERFACE IMPORTED)
    # Whole: what registers the delegate is a variable that nothing refers to.
    target_link_libraries(arm_runtime::${delegate} INTERFACE
      "$<LINK_LIBRARY:WHOLE_ARCHIVE,arm_runtime::${delegate}_archive>")
  endif()
endforeach()
