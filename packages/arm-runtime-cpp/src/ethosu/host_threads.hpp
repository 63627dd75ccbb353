// Threads for the functional model, on hosts.
#pragma once

#include <cstdint>
#include <exception>
#include <thread>

namespace arm_runtime::ethosu {

constexpr uint32_t kMostThreads = 16;

/// Runs `body` for each worker below `workers`, which are at most `kMostThreads`: in a thread each,
/// or here if the system gives no more threads.
inline void run_threads(void*, uint32_t workers, void (*body)(void*, uint32_t), void* argument) {
    std::thread threads[kMostThreads];
    for (uint32_t i = 1; i < workers; ++i) {
        try {
            threads[i] = std::thread(body, argument, i);
        } catch (const std::exception&) {  // no thread, or no memory for one
            body(argument, i);
        }
    }
    body(argument, 0);
    for (std::thread& thread : threads)
        if (thread.joinable()) thread.join();
}

}  // namespace arm_runtime::ethosu
