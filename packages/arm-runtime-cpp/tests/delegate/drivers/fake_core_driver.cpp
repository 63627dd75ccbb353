// A fake of Arm's core driver for bare metal.
#include <ethosu_driver.h>

#include "fake.hpp"

namespace {
ethosu_driver driver{0};
}

ethosu_driver* ethosu_reserve_driver() {
    fake::count("reserve");
    fake::require(driver.is_reserved == 0, "a driver is reserved once at a time");
    if (fake::fails("reserve")) return nullptr;
    driver.is_reserved = 1;
    return &driver;
}

void ethosu_release_driver(ethosu_driver* released) {
    fake::count("release");
    fake::require(released == &driver && driver.is_reserved == 1, "what is released was reserved");
    driver.is_reserved = 0;
}

int ethosu_invoke_v3(ethosu_driver* invoked, const void* commands, const int commands_size,
                     uint64_t* const addresses, const size_t* sizes, const int count, void*) {
    fake::count("invoke");
    fake::require(invoked == &driver && driver.is_reserved == 1, "the driver invoked is reserved");
    fake::require(count == 3, "weights, scratch and fast scratch are given");
    fake::require(reinterpret_cast<uintptr_t>(commands) % 16 == 0,
                  "commands are at a multiple of 16");
    for (int i = 0; i < count; ++i)
        fake::require(addresses[i] % 16 == 0, "regions are at multiples of 16");
    fake::require(addresses[2] == 0 && sizes[2] == 0,
                  "there is no fast scratch unless firmware defines it");
    if (fake::fails("invoke")) return -1;
    arm_runtime::ethosu::Container container;
    const char* problem = arm_runtime::ethosu::read_container(
        static_cast<const uint8_t*>(commands), static_cast<size_t>(commands_size), container);
    fake::require(problem == nullptr, "the commands are a driver payload");
    const arm_runtime::ethosu::Words stream = container.stream;
    fake::run({stream.bytes(), 4 * stream.size()},
              {reinterpret_cast<const uint8_t*>(addresses[0]), sizes[0]},
              reinterpret_cast<uint8_t*>(addresses[1]), sizes[1]);
    return 0;
}
