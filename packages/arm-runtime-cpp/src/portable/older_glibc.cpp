// What GCC takes from the newest glibc of the machine that builds, in terms of what every glibc
// has: linked into what wheels bring (ARM_RUNTIME_PORTABLE), so that they load with the glibc that
// ExecuTorch's wheel asks for.
//
// A name here is hidden (-fvisibility) and so is bound when the library is linked, before the C
// library is looked at. `X@GLIBC_n` is the symbol that the first glibc of this processor had; it is
// there for ever. Sources: glibc's NEWS of 2.32 (single threads), 2.33 (stat) and 2.34 (libdl and
// libpthread became parts of libc, and programs start without __libc_csu_init). The last function
// is libstdc++'s since GCC 11, which allocators call; libraries that link ExecuTorch find it there.
#include <new>

#if defined(__x86_64__)
#define ARM_RUNTIME_FIRST_GLIBC "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define ARM_RUNTIME_FIRST_GLIBC "GLIBC_2.17"
#else
#error "no wheels are built for this processor"
#endif
#define ARM_RUNTIME_FIRST(name) \
    __asm__(".symver first_" #name "," #name "@" ARM_RUNTIME_FIRST_GLIBC)

namespace {
#if defined(__x86_64__)
constexpr int kStatVersion = 1;
#else
constexpr int kStatVersion = 0;
#endif
}  // namespace

extern "C" {

ARM_RUNTIME_FIRST(dlopen);
ARM_RUNTIME_FIRST(dlsym);
ARM_RUNTIME_FIRST(dlerror);
ARM_RUNTIME_FIRST(dladdr);
void* first_dlopen(const char* file, int mode);
void* first_dlsym(void* library, const char* name);
char* first_dlerror();
int first_dladdr(const void* address, void* found);

void* dlopen(const char* file, int mode) { return first_dlopen(file, mode); }
void* dlsym(void* library, const char* name) { return first_dlsym(library, name); }
char* dlerror() { return first_dlerror(); }
int dladdr(const void* address, void* found) { return first_dladdr(address, found); }

ARM_RUNTIME_FIRST(__xstat);
ARM_RUNTIME_FIRST(__lxstat);
ARM_RUNTIME_FIRST(__fxstat);
int first___xstat(int version, const char* path, void* found);
int first___lxstat(int version, const char* path, void* found);
int first___fxstat(int version, int file, void* found);

int stat(const char* path, void* found) { return first___xstat(kStatVersion, path, found); }
int lstat(const char* path, void* found) { return first___lxstat(kStatVersion, path, found); }
int fstat(int file, void* found) { return first___fxstat(kStatVersion, file, found); }
int fstat64(int file, void* found) { return fstat(file, found); }

// "There may be other threads": std::shared_ptr then counts with atomic instructions, as it did
// before glibc 2.32.
extern char __libc_single_threaded;
char __libc_single_threaded = 0;
}

extern "C" [[noreturn]] __attribute__((visibility("hidden"))) void
arm_runtime_bad_array_length() __asm__("_ZSt28__throw_bad_array_new_lengthv");
void arm_runtime_bad_array_length() { throw std::bad_array_new_length(); }
