// How a program starts: the same for arm_runner as older_glibc.cpp is for libraries. Linked with
// --wrap=__libc_start_main.

#if defined(__x86_64__)
#define ARM_RUNTIME_FIRST_GLIBC "GLIBC_2.2.5"
#else
#define ARM_RUNTIME_FIRST_GLIBC "GLIBC_2.17"
#endif

namespace {
using Main = int (*)(int, char**, char**);
using Constructor = void (*)(int, char**, char**);
}  // namespace

extern "C" {
extern Constructor __init_array_start[] __attribute__((visibility("hidden")));
extern Constructor __init_array_end[] __attribute__((visibility("hidden")));

__asm__(".symver first_libc_start_main,__libc_start_main@" ARM_RUNTIME_FIRST_GLIBC);
int first_libc_start_main(Main main, int count, char** words, Constructor init, void (*fini)(),
                          void (*rtld_fini)(), void* stack);
int __wrap___libc_start_main(Main main, int count, char** words, Constructor init, void (*fini)(),
                             void (*rtld_fini)(), void* stack);
}

namespace {

// Until glibc 2.34 a program ran its constructors itself, in a function that it gave to
// __libc_start_main.
void run_constructors(int count, char** words, char** environment) {
    for (Constructor* it = __init_array_start; it != __init_array_end; ++it)
        (*it)(count, words, environment);
}

}  // namespace

int __wrap___libc_start_main(Main main, int count, char** words, Constructor, void (*fini)(),
                             void (*rtld_fini)(), void* stack) {
    return first_libc_start_main(main, count, words, run_constructors, fini, rtld_fini, stack);
}
