// Hosts run networks on the functional model, with threads, or on the NPU that ARM_ETHOSU_DEVICE
// names.
#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <vector>

#include "linux_network.hpp"
#include "model_network.hpp"

namespace arm_runtime::ethosu {
namespace {

constexpr uint32_t kMostThreads = 16;
/// More than any Vela configuration has; pages that nothing touches cost nothing.
constexpr size_t kFastMemory = 4 << 20;

void run_threads(void*, uint32_t workers, void (*body)(void*, uint32_t), void* argument) {
    std::thread threads[kMostThreads];
    for (uint32_t i = 1; i < workers; ++i) {
        try {
            threads[i] = std::thread(body, argument, i);
        } catch (const std::system_error&) {  // the system gives no more threads: do its work here
            body(argument, i);
        }
    }
    body(argument, 0);
    for (std::thread& thread : threads)
        if (thread.joinable()) thread.join();
}

}  // namespace

Network* open_network(const Payload& payload, const Allocator& allocator, Report report) {
    const char* device = std::getenv("ARM_ETHOSU_DEVICE");
    if (device != nullptr && device[0] != 0)
        return open_on_linux(device, payload, allocator, report);
    const uint32_t workers = std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads);
    return open_on_model(payload, allocator, {workers, run_threads, nullptr}, kFastMemory, report);
}

}  // namespace arm_runtime::ethosu
