// What VgfBackend does at its edges, step by step, as ExecuTorch's runtime calls it. The program
// takes a VGF that makes x + x of int32 [4], a part of a device's name, and a VGF that takes push
// constants; it prints a line for each step.
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/platform/runtime.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

namespace et = executorch::runtime;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::aten::TensorImpl;

namespace {

et::BackendInterface* backend() { return et::get_backend_class("VgfBackend"); }

void set_option(const char* key, const char* value) {
    et::BackendOption option;
    std::strncpy(option.key, key, sizeof(option.key) - 1);
    std::array<char, et::kMaxOptionValueLength> text{};
    std::strncpy(text.data(), value, text.size() - 1);
    option.value = text;
    et::BackendOptionContext context;
    const et::Error error = backend()->set_option(context, {&option, 1});
    std::printf("option %s %s: %d\n", key, value, static_cast<int>(error));
}

et::DelegateHandle* load(const std::vector<char>& vgf) {
    et::BackendInitContext context(nullptr);
    et::FreeableBuffer buffer(vgf.data(), vgf.size(), nullptr);
    const auto handle = backend()->init(context, &buffer, {});
    std::printf("load: %d\n", static_cast<int>(handle.error()));
    return handle.ok() ? *handle : nullptr;
}

/// A tensor [size] of `data`.
struct Owned {
    Owned(ScalarType type, int32_t count, void* data)
        : size(count), impl(type, 1, &size, data, &order, &stride), value(Tensor(&impl)) {}
    int32_t size;
    uint8_t order = 0;
    int32_t stride = 1;
    TensorImpl impl;
    et::EValue value;
};

void run(const char* what, et::DelegateHandle* handle, Owned&& input, Owned&& output) {
    et::EValue* values[] = {&input.value, &output.value};
    et::BackendExecutionContext context;
    std::fprintf(stderr, "step %s\n", what);
    const et::Error error = backend()->execute(context, handle, {values, 2});
    std::printf("%s: %d\n", what, static_cast<int>(error));
}

/// Doubles numbers that no other run has, and counts those that came out wrong.
int wrong_runs(et::DelegateHandle* handle, int32_t seed, int runs) {
    int wrong = 0;
    for (int32_t i = 0; i < runs; ++i) {
        int32_t in[] = {seed + i, -i, 3, 4}, out[] = {0, 0, 0, 0};
        Owned input(ScalarType::Int, 4, in), output(ScalarType::Int, 4, out);
        et::EValue* values[] = {&input.value, &output.value};
        et::BackendExecutionContext context;
        const bool ok = backend()->execute(context, handle, {values, 2}) == et::Error::Ok;
        for (int at = 0; at < 4; ++at) wrong += !ok || out[at] != 2 * in[at];
    }
    return wrong;
}

void run_in_threads(const std::vector<char>& vgf, et::DelegateHandle* shared) {
    constexpr int kThreads = 3, kRuns = 50;
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int number = 0; number < kThreads; ++number) {
        threads.emplace_back([&, seed = 1000 * number] {
            et::BackendInitContext context(nullptr);
            et::FreeableBuffer buffer(vgf.data(), vgf.size(), nullptr);
            const auto own = backend()->init(context, &buffer, {});
            wrong += own.ok() ? wrong_runs(*own, seed, kRuns) : 1;
            wrong += wrong_runs(shared, seed, kRuns);
            if (own.ok()) backend()->destroy(*own);
        });
    }
    for (std::thread& thread : threads) thread.join();
    std::printf("threads: %d runs, %d wrong\n", 2 * kThreads * kRuns, wrong.load());
}

std::vector<char> read(const char* path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

int main(int count, char** words) {
    if (count != 4) return 2;
    et::runtime_init();
    const std::vector<char> vgf = read(words[1]);
    set_option("devise", "0");
    set_option("engine", "warp");
    set_option("engine", "compute");
    set_option("device", "no such device");
    load(vgf);
    set_option("device", words[2]);
    et::DelegateHandle* const handle = load(vgf);
    if (handle == nullptr) return 1;
    load(read(words[3]));

    int64_t wide[] = {1, -2, 1 << 29, -(1 << 30)};
    int64_t sums[] = {9, 9, 9, 9};
    run("int64", handle, {ScalarType::Long, 4, wide}, {ScalarType::Long, 4, sums});
    for (const int64_t sum : sums) std::printf("%lld ", static_cast<long long>(sum));
    std::printf("\n");
    int64_t too_wide[] = {1, int64_t{1} << 31, 0, 0};
    run("range", handle, {ScalarType::Long, 4, too_wide}, {ScalarType::Long, 4, sums});
    int32_t narrow[] = {1, 2, 3, 4};
    run("int64 out", handle, {ScalarType::Int, 4, narrow}, {ScalarType::Long, 4, sums});
    for (const int64_t sum : sums) std::printf("%lld ", static_cast<long long>(sum));
    std::printf("\n");
    run("shape", handle, {ScalarType::Int, 3, narrow}, {ScalarType::Long, 4, sums});
    run("type", handle, {ScalarType::Int, 4, narrow}, {ScalarType::Float, 4, sums});
    run("no type of ours", handle, {ScalarType::Double, 2, wide}, {ScalarType::Long, 4, sums});
    run_in_threads(vgf, handle);
    backend()->destroy(handle);
}
