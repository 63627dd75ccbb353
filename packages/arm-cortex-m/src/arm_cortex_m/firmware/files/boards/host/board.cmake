# This machine.
target_sources(firmware PRIVATE boards/host/host.c)
set(MODEL_WORKSPACE 33554432)
