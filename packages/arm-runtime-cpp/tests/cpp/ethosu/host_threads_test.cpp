#include "ethosu/host_threads.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <cerrno>
#include <cstdlib>
#include <new>

namespace {

bool no_memory = false;  // NOLINT: what the allocator below does

}  // namespace

// A system that gives no thread, and perhaps no memory for what a thread begins with.
extern "C" int pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) noexcept {
    return EAGAIN;
}
// Not inlined: GCC takes a free() that it sees beside a call of operator new for a mistake.
// NOLINTBEGIN(cppcoreguidelines-no-malloc): this is what manages memory
[[gnu::noinline]] void* operator new(size_t size) {
    void* const memory = no_memory ? nullptr : std::malloc(size);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
// NOLINTEND(cppcoreguidelines-no-malloc)

namespace arm_runtime::ethosu {
namespace {

TEST(RunThreads, EveryWorkerRunsHereWithoutThreadsAndMemory) {
    for (const bool without : {false, true}) {
        uint32_t done = 0;
        no_memory = without;
        run_threads(
            nullptr, 3,
            [](void* argument, uint32_t worker) {
                *static_cast<uint32_t*>(argument) |= 1U << worker;
            },
            &done);
        no_memory = false;
        EXPECT_EQ(done, 0b111U);
    }
}

}  // namespace
}  // namespace arm_runtime::ethosu
