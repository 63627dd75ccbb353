# What belongs to your board: this file and its folder are yours, and stay as they are when the model is deployed again.
# Sources in app/ (.c, .cpp, .S) are compiled into `firmware`. A Cortex-M needs, for example:
#
#     target_link_options(firmware PRIVATE -T${CMAKE_CURRENT_SOURCE_DIR}/app/board.ld --specs=nosys.specs)
#     target_link_libraries(firmware PRIVATE .../libethosu_core_driver.a)
