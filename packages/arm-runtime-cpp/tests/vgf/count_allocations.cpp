// Runs a VGF and prints how many allocations each of the runs made, by the library that asked.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "arm_runtime/vgf.hpp"

namespace {

// Filled without allocating; a run makes far fewer.
constexpr size_t kRoom = 4096;
void* callers[kRoom];  // NOLINT: what replaced operators write to
std::atomic<size_t> count{0};
std::atomic<bool> counting{false};

void* allocate(size_t size, void* caller) {
    if (counting) {
        const size_t at = count++;
        if (at < kRoom) callers[at] = caller;
    }
    if (void* const memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}

}  // namespace

// The program's operators: those of every library that does not bring its own.
void* operator new(size_t size) { return allocate(size, __builtin_return_address(0)); }
void* operator new[](size_t size) { return allocate(size, __builtin_return_address(0)); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

int main(int words, char** word) {
    namespace vgf = arm_runtime::vgf;
    if (words != 3) return 2;
    std::ifstream file(word[1], std::ios::binary);
    const std::vector<char> data((std::istreambuf_iterator<char>(file)),
                                 std::istreambuf_iterator<char>());
    vgf::Session session(data.data(), data.size(), vgf::options_from_environment());
    std::vector<std::vector<char>> memory;
    std::vector<vgf::Argument> inputs;
    std::vector<vgf::Argument> outputs;
    for (const auto* infos : {&session.inputs(), &session.outputs()}) {
        for (const vgf::TensorInfo& info : *infos) {
            memory.emplace_back(info.bytes);
            (infos == &session.inputs() ? inputs : outputs)
                .push_back({memory.back().data(), info.type, info.shape.data(), info.shape.size()});
        }
    }
    counting = true;
    ::operator delete(::operator new(1));  // a call of the operators, which compilers must keep
    counting = false;
    std::printf("counted of one: %zu\n", count.exchange(0));
    const int runs = std::atoi(word[2]);
    for (int run = 0; run <= runs; ++run) {
        counting = run > 0;  // the first may allocate
        session.run(inputs.data(), inputs.size(), outputs.data(), outputs.size());
        counting = false;
    }
    std::map<std::string, size_t> by_library;
    for (size_t i = 0; i < count && i < kRoom; ++i) {
        Dl_info where{};
        const bool known = dladdr(callers[i], &where) != 0;
        ++by_library[known ? where.dli_fname : "unknown"];
    }
    std::printf("runs %d\n", runs);
    for (const auto& [library, times] : by_library) std::printf("%zu %s\n", times, library.c_str());
}
