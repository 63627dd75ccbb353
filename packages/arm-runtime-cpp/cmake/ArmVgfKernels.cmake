# arm_vgf_kernels_of(VARIABLE FILE...): sets VARIABLE to the names of the kernels that the plans of .vgf files need.
#
# The planner says so itself: src/vgf/tools/vgf_kernels.cpp, which is built here and now, for the machine that builds.
function(arm_vgf_kernels_of variable)
  set(folder "${PROJECT_BINARY_DIR}/vgf_kernels")
  set(settings "")
  if(CMAKE_CROSSCOMPILING)
    # The target's compiler, toolchain and libraries are of no use: of them only headers are taken.
    set(environment "${CMAKE_COMMAND}" -E env --unset=CC --unset=CXX --unset=CFLAGS --unset=CXXFLAGS --unset=LDFLAGS
                    --unset=CMAKE_TOOLCHAIN_FILE)
  else()
    set(environment "")
    list(APPEND settings "-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}" "-DVGF_DIR=${VGF_DIR}")
  endif()
  foreach(name Python_EXECUTABLE CMAKE_CXX_COMPILER_LAUNCHER ARM_VGF_VULKAN_INCLUDE ARM_VGF_SPIRV_INCLUDE ARM_VGF_GLSLANG)
    if(${name})
      list(APPEND settings "-D${name}=${${name}}")
    endif()
  endforeach()
  message(STATUS "ARM_RUNTIME_VGF_KERNELS: building the planner, for the kernels of ${ARGN}")
  foreach(step
      "-S;${PROJECT_SOURCE_DIR};-B;${folder};-G;${CMAKE_GENERATOR};-DCMAKE_BUILD_TYPE=Debug;-DARM_RUNTIME_VGF_KERNELS_TOOL=ON;-DARM_RUNTIME_VGF_KERNELS=all;${settings}"
      "--build;${folder};--parallel;2;--config;Debug;--target;vgf_kernels")
    execute_process(COMMAND ${environment} "${CMAKE_COMMAND}" ${step}
                    RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(failed)
      message(FATAL_ERROR "ARM_RUNTIME_VGF_KERNELS: the planner cannot be built on this machine; name the kernels in place of "
                          "files (`arm-tosa explain FILE --engine compute` lists them)\n${output}")
    endif()
  endforeach()
  execute_process(COMMAND "${folder}/src/vgf/vgf_kernels" ${ARGN}
                  RESULT_VARIABLE failed OUTPUT_VARIABLE kernels ERROR_VARIABLE output OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(failed)
    message(FATAL_ERROR "ARM_RUNTIME_VGF_KERNELS: ${output}")
  endif()
  string(REPLACE "\n" ";" kernels "${kernels}")
  set(${variable} "${kernels}" PARENT_SCOPE)
endfunction()
