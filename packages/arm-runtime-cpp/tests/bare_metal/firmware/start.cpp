// What runs before main: the vector table, the floating point unit, and static constructors.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
extern uint8_t bss_start[], bss_end[], stack_top[];
void __libc_init_array();
void initialise_monitor_handles();
int main();
void* __dso_handle = nullptr;
void _init() {}
void _fini() {}

[[noreturn]] void start() {
    // Coprocessor access control: CP10 and CP11, floating point and vectors.
    *reinterpret_cast<volatile uint32_t*>(0xE000ED88) |= 0xFU << 20;
    asm volatile("dsb\nisb");
    std::memset(bss_start, 0, static_cast<size_t>(bss_end - bss_start));
    initialise_monitor_handles();
    __libc_init_array();
    std::exit(main());
}

[[noreturn]] void stop() {
    std::puts("the processor faulted");
    std::_Exit(3);
}
}

namespace {

struct Vectors {
    const void* stack;
    void (*handlers[15])();
};
[[gnu::section(".vectors"), gnu::used]] const Vectors vectors = {
    stack_top,
    {start, stop, stop, stop, stop, stop, stop, stop, stop, stop, stop, stop, stop, stop, stop}};

}  // namespace
