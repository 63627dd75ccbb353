# What boards with a Cortex-M have in common: start-up, and linking with a board's script.

# Links the program `firmware` with FOLDER/memory.ld, which includes models/models.ld, and starts it with start.c. Both have comments about what they need.
function(cortex_m_firmware folder)
  if(NOT CMAKE_SYSTEM_NAME STREQUAL "Generic")
    message(FATAL_ERROR "This board is built with its toolchain: cmake --preset board")
  endif()
  target_sources(firmware PRIVATE boards/cortex-m/start.c)
  set(linker_script "${folder}/memory.ld")
  target_link_options(firmware PRIVATE -nostartfiles --specs=nano.specs --specs=nosys.specs -Wl,--gc-sections
    "-T${linker_script}" "-L${CMAKE_CURRENT_SOURCE_DIR}" "-Wl,-Map=$<TARGET_FILE_DIR:firmware>/firmware.map" -Wl,--print-memory-usage)
  set_property(TARGET firmware APPEND PROPERTY LINK_DEPENDS "${linker_script}" "${CMAKE_CURRENT_SOURCE_DIR}/models/models.ld")
  set_target_properties(firmware PROPERTIES SUFFIX .elf)
endfunction()
