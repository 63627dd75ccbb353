# find_package(arm_runtime): targets arm_runtime::ethosu and, where it was built, arm_runtime::vgf. A program that links
# one has its delegate registered when it starts.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/ArmRuntimeDependencies.cmake")
if(NOT executorch_FOUND)
  set(arm_runtime_FOUND FALSE)
  set(arm_runtime_NOT_FOUND_MESSAGE "arm_runtime needs ExecuTorch: pip install executorch, or set executorch_DIR")
  return()
endif()
include("${CMAKE_CURRENT_LIST_DIR}/arm_runtimeTargets.cmake")
if(TARGET arm_runtime::vgf_archive AND NOT VGF_FOUND)
  set(arm_runtime_FOUND FALSE)
  set(arm_runtime_NOT_FOUND_MESSAGE "arm_runtime needs the VGF library: pip install ai-ml-sdk-vgf-library, or set VGF_DIR")
  return()
endif()

foreach(delegate ethosu vgf)
  if(TARGET arm_runtime::${delegate}_archive AND NOT TARGET arm_runtime::${delegate})
    add_library(arm_runtime::${delegate} INTERFACE IMPORTED)
    # Whole: what registers the delegate is a variable that nothing refers to.
    target_link_libraries(arm_runtime::${delegate} INTERFACE
      "$<LINK_LIBRARY:WHOLE_ARCHIVE,arm_runtime::${delegate}_archive>")
  endif()
endforeach()
