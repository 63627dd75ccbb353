# What hosts get: the model behind a C interface and, where there is ExecuTorch, the delegates, one shared library that
# registers them, and arm_runner.

find_package(Threads REQUIRED)
add_library(arm_ethosu_model_c SHARED src/ethosu/model/c_api.cpp)
target_link_libraries(arm_ethosu_model_c PRIVATE arm_ethosu_model Threads::Threads)
set(installed_libraries arm_ethosu_model_c)

include(ArmRuntimeExecutorch)
if(executorch_FOUND)
  add_library(arm_runtime_ethosu STATIC src/ethosu/delegate/backend.cpp src/ethosu/delegate/open_on_host.cpp)
  target_link_libraries(arm_runtime_ethosu PRIVATE arm_ethosu_network PUBLIC executorch::runtime Threads::Threads)
  target_compile_options(arm_runtime_ethosu PRIVATE ${ARM_RUNTIME_WARNINGS})
  set_source_files_properties(src/ethosu/delegate/backend.cpp PROPERTIES COMPILE_OPTIONS "-fno-exceptions;-fno-rtti")
  set(delegates arm_runtime_ethosu)
  if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/src/vgf/CMakeLists.txt")
    add_subdirectory(src/vgf)
    list(APPEND delegates arm_runtime_vgf)
  endif()

  # Whole archives: what registers a delegate is a variable that nothing refers to.
  list(JOIN delegates "," archives)
  add_library(arm_runtime SHARED src/ethosu/delegate/payload_c_api.cpp)
  target_link_libraries(arm_runtime PRIVATE arm_ethosu_network "$<LINK_LIBRARY:WHOLE_ARCHIVE,${archives}>")
  # In a wheel, ExecuTorch's package lies beside ours.
  set_target_properties(arm_runtime PROPERTIES INSTALL_RPATH "$ORIGIN/../../executorch/lib")
  list(APPEND installed_libraries arm_runtime)
endif()

install(TARGETS ${installed_libraries} LIBRARY DESTINATION lib)
install(DIRECTORY include/ DESTINATION include)
