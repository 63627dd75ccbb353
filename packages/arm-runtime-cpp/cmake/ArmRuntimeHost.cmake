# What hosts get: the model behind a C interface, libarm_vgf and, where there is ExecuTorch, the delegates as archives to
# link, one shared library that registers them, and arm_runner.

find_package(Threads REQUIRED)
add_library(arm_ethosu_model_c SHARED src/ethosu/model/c_api.cpp)
target_link_libraries(arm_ethosu_model_c PRIVATE arm_ethosu_model Threads::Threads)
if(ARM_RUNTIME_INSTALL)
  install(TARGETS arm_ethosu_model_c LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  # The functional model's sources, which `arm-tosa deploy` copies with its header into firmware for boards without an
  # Ethos-U.
  install(DIRECTORY src/ethosu/model/ DESTINATION ${CMAKE_INSTALL_DATADIR}/ethosu_model/src
    FILES_MATCHING PATTERN "*.cpp" PATTERN "*.hpp" PATTERN "c_api.cpp" EXCLUDE)
endif()

option(ARM_RUNTIME_VGF "Build libarm_vgf and VgfBackend; needs Vulkan's headers and the package ai-ml-sdk-vgf-library" ON)
option(ARM_RUNTIME_REQUIRE_EXECUTORCH "Stop if there is no ExecuTorch to build the delegates for" OFF)
include(ArmRuntimeDependencies)
if(ARM_RUNTIME_VGF AND EXISTS "${PROJECT_SOURCE_DIR}/src/vgf/CMakeLists.txt")
  add_subdirectory(src/vgf)
endif()
if(NOT executorch_FOUND)
  if(ARM_RUNTIME_REQUIRE_EXECUTORCH)
    message(FATAL_ERROR "The delegates need ExecuTorch 1.5: pip install executorch, and build with pip install "
                        "--no-build-isolation; or set executorch_DIR to the folder of executorch-config.cmake")
  endif()
  message(STATUS "No ExecuTorch: the delegates and arm_runner are not built")
  return()
endif()

if(SKBUILD)
  # ExecuTorch's targets have everything look in the folder that they lie in now: a wheel must not name a folder of the
  # machine that built it, which may hold another ExecuTorch later on. Build trees get that folder from CMake anyway.
  get_directory_property(imported IMPORTED_TARGETS)
  list(FILTER imported INCLUDE REGEX "^executorch::")
  foreach(target IN LISTS imported)
    get_target_property(options ${target} INTERFACE_LINK_OPTIONS)
    if(options)
      list(FILTER options EXCLUDE REGEX "-rpath,/")
      set_target_properties(${target} PROPERTIES INTERFACE_LINK_OPTIONS "${options}")
    endif()
  endforeach()
endif()

add_library(arm_runtime_ethosu STATIC
  src/ethosu/delegate/backend.cpp src/ethosu/delegate/host_log.cpp src/ethosu/delegate/linux_network.cpp
  src/ethosu/delegate/open_on_host.cpp)
set_target_properties(arm_runtime_ethosu PROPERTIES EXPORT_NAME ethosu_archive)
target_link_libraries(arm_runtime_ethosu PRIVATE arm_ethosu_network PUBLIC executorch::runtime Threads::Threads)
set_source_files_properties(src/ethosu/delegate/backend.cpp src/ethosu/delegate/linux_network.cpp PROPERTIES COMPILE_OPTIONS "-fno-exceptions;-fno-rtti")
set(ETHOSU_LINUX_DRIVER_INCLUDE_DIR "" CACHE PATH "Folder of ethosu.hpp and uapi/ethosu.h; empty: without Arm's Linux driver stack")
set(ETHOSU_LINUX_DRIVER_LIBRARY "" CACHE FILEPATH "The library of ethosu.hpp")
if(ETHOSU_LINUX_DRIVER_INCLUDE_DIR)
  foreach(file "${ETHOSU_LINUX_DRIVER_INCLUDE_DIR}/ethosu.hpp" "${ETHOSU_LINUX_DRIVER_INCLUDE_DIR}/uapi/ethosu.h" "${ETHOSU_LINUX_DRIVER_LIBRARY}")
    if(NOT EXISTS "${file}")
      message(FATAL_ERROR "No file '${file}': see ETHOSU_LINUX_DRIVER_INCLUDE_DIR and ETHOSU_LINUX_DRIVER_LIBRARY")
    endif()
  endforeach()
  target_sources(arm_runtime_ethosu PRIVATE src/ethosu/delegate/driver_library_network.cpp)
  target_include_directories(arm_runtime_ethosu SYSTEM PRIVATE "${ETHOSU_LINUX_DRIVER_INCLUDE_DIR}")
  target_compile_definitions(arm_runtime_ethosu PRIVATE ARM_RUNTIME_ETHOSU_DRIVER_LIBRARY)
  target_link_libraries(arm_runtime_ethosu PRIVATE "${ETHOSU_LINUX_DRIVER_LIBRARY}")
endif()
set(delegates arm_runtime_ethosu)
set(archives arm_runtime_ethosu arm_ethosu_network arm_ethosu_model)

if(TARGET arm_runtime_vgf)
  list(APPEND delegates arm_runtime_vgf)
  list(APPEND archives arm_runtime_vgf)
endif()

# Whole archives: what registers a delegate is a variable that nothing refers to.
list(JOIN delegates "," whole)
add_library(arm_runtime SHARED src/ethosu/delegate/payload_c_api.cpp)
target_link_libraries(arm_runtime PRIVATE arm_ethosu_network "$<LINK_LIBRARY:WHOLE_ARCHIVE,${whole}>")
# libarm_vgf lies beside it and, in a wheel, ExecuTorch's package beside ours.
set_target_properties(arm_runtime PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/../../executorch/lib")

# Delegates of functions, such as Python's; loaded only where a target has no other.
add_library(arm_host_delegate SHARED src/host/delegate.cpp)
target_link_libraries(arm_host_delegate PRIVATE executorch::runtime)
set_target_properties(arm_host_delegate PROPERTIES INSTALL_RPATH "$ORIGIN/../../executorch/lib")

add_executable(arm_runner src/runner/arm_runner.cpp src/runner/memory_order.cpp src/runner/npy.cpp)
target_link_libraries(arm_runner PRIVATE
  executorch::runtime executorch::kernels_optimized executorch::kernels_quantized executorch::etdump
  -Wl,--push-state,--no-as-needed arm_runtime -Wl,--pop-state)
set_target_properties(arm_runner PROPERTIES
  INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};$ORIGIN/../../executorch/lib")

if(TARGET arm_vgf)
  # libarm_runtime needs it, and finds it beside itself only where both are installed.
  target_link_options(arm_runner PRIVATE "LINKER:-rpath-link,$<TARGET_FILE_DIR:arm_vgf>")
endif()

if(ARM_RUNTIME_PORTABLE)
  arm_runtime_portable_library(arm_runtime)
  arm_runtime_portable_library(arm_host_delegate)
  arm_runtime_portable_program(arm_runner)
endif()

if(NOT ARM_RUNTIME_INSTALL)
  return()
endif()
install(TARGETS arm_runtime arm_host_delegate arm_runner
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# find_package(arm_runtime)
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/arm_runtime)
install(TARGETS ${archives} EXPORT arm_runtime ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT arm_runtime FILE arm_runtimeTargets.cmake NAMESPACE arm_runtime:: DESTINATION ${package_folder})
write_basic_package_version_file("${PROJECT_BINARY_DIR}/arm_runtimeConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES cmake/arm_runtimeConfig.cmake cmake/ArmRuntimeDependencies.cmake cmake/ArmRuntimePythonPackage.cmake
  "${PROJECT_BINARY_DIR}/arm_runtimeConfigVersion.cmake" DESTINATION ${package_folder})
