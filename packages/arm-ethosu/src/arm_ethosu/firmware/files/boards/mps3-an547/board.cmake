# Arm MPS3 with the FPGA image AN547 (Corstone-300: Cortex-M55), as QEMU has it (-M mps3-an547).
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "cortex-m55")
  message(FATAL_ERROR "This board is built with its toolchain: cmake --preset board")
endif()
target_sources(firmware PRIVATE boards/mps3-an547/start.c boards/mps3-an547/semihosting.c)
set(linker_script "${CMAKE_CURRENT_SOURCE_DIR}/boards/mps3-an547/memory.ld")
target_link_options(firmware PRIVATE -nostartfiles --specs=nano.specs --specs=nosys.specs -Wl,--gc-sections "-T${linker_script}"
  "-Wl,-Map=$<TARGET_FILE_DIR:firmware>/firmware.map" -Wl,--print-memory-usage)
set_property(TARGET firmware APPEND PROPERTY LINK_DEPENDS "${linker_script}")
set_target_properties(firmware PROPERTIES SUFFIX .elf)
set(MODEL_WORKSPACE 4194304)
