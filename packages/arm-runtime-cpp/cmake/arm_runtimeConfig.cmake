# find_package(arm_runtime): targets arm_runtime::ethosu and, where it was built, arm_runtime::vgf. A program that links
# one has its delegate registered when it starts.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
if(EXISTS "${CMAKE_CURRENT_LIST_DIR}/../arm_vgf")
  find_dependency(arm_vgf HINTS "${CMAKE_CURRENT_LIST_DIR}/../arm_vgf")
endif()
include("${CMAKE_CURRENT_LIST_DIR}/ArmRuntimeDependencies.cmake")
if(NOT executorch_FOUND)
  set(arm_runtime_FOUND FALSE)
  set(arm_runtime_NOT_FOUND_MESSAGE "arm_runtime needs ExecuTorch: pip install executorch, or set executorch_DIR")
  return()
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
