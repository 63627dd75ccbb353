# Wheels for other machines: libraries that load wherever ExecuTorch's wheel does, although GCC and glibc of the machine
# that builds are newer, and the same bytes in whichever folder they are built.
#
# Two things would bind a library to a new system: functions of which glibc has new versions (src/portable), and
# std::filesystem, which libstdc++.so has since GCC 9 only: its three objects are taken out of libstdc++.a. Archives are
# left as they are, for who links them has a compiler.

if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  message(FATAL_ERROR "ARM_RUNTIME_PORTABLE is for GCC; the compiler is ${CMAKE_CXX_COMPILER_ID}")
endif()

add_compile_options("-ffile-prefix-map=${PROJECT_SOURCE_DIR}=." "-ffile-prefix-map=${PROJECT_BINARY_DIR}=build")
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)  # a path that is replaced later leaves its length behind

execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -print-file-name=libstdc++.a
                OUTPUT_VARIABLE libstdcxx OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(filesystem fs_dir.o fs_ops.o fs_path.o)
set(folder "${PROJECT_BINARY_DIR}/filesystem")
file(MAKE_DIRECTORY "${folder}")
execute_process(COMMAND "${CMAKE_AR}" x "${libstdcxx}" ${filesystem}
                WORKING_DIRECTORY "${folder}" COMMAND_ERROR_IS_FATAL ANY)
list(TRANSFORM filesystem PREPEND "${folder}/")
set_source_files_properties(${filesystem} PROPERTIES EXTERNAL_OBJECT ON)
add_library(arm_runtime_filesystem STATIC ${filesystem})
set_target_properties(arm_runtime_filesystem PROPERTIES LINKER_LANGUAGE CXX)

# For a shared library.
function(arm_runtime_portable_library target)
  target_sources(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src/portable/older_glibc.cpp")
  target_link_libraries(${target} PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,arm_runtime_filesystem>")
  target_link_options(${target} PRIVATE LINKER:--exclude-libs,libarm_runtime_filesystem.a)  # nothing of it is exported
endfunction()

# For a program, which uses no std::filesystem.
function(arm_runtime_portable_program target)
  target_sources(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src/portable/older_glibc.cpp"
                 "${PROJECT_SOURCE_DIR}/src/portable/older_glibc_start.cpp")
  target_link_options(${target} PRIVATE LINKER:--wrap=__libc_start_main)
endfunction()
