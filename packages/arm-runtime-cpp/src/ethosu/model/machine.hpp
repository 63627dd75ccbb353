// All state of a run, and the operations that work on it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "arm_runtime/ethosu_model.hpp"
#include "registers.hpp"

namespace arm_runtime::ethosu {

/// The product of sizes, or `kTooMany` where it is more than that.
constexpr int64_t kTooMany = int64_t{1} << 48;
inline int64_t product(std::initializer_list<int64_t> sizes) {
    int64_t result = 1;
    for (const int64_t size : sizes) {
        if (__builtin_mul_overflow(result, size, &result) || result > kTooMany) return kTooMany;
    }
    return result;
}

/// Hands out the caller's memory; everything is given back after each operation.
class Workspace {
  public:
    Workspace(uint8_t* data, size_t size) : data_(data), size_(size) {}
    /// Bytes aligned to 64, or nullptr if there are not enough; counts them either way.
    void* take(uint64_t bytes);
    uint64_t mark() const { return used_; }
    void release(uint64_t mark) { used_ = mark; }
    uint64_t peak() const { return peak_; }

  private:
    uint8_t* data_;
    size_t size_;
    uint64_t used_ = 0;
    uint64_t peak_ = 0;
};

struct Machine {
    EthosUFamily family = EthosUFamily::kU55;
    uint32_t cores = 1;
    uint32_t ofm_ublock = 8;  ///< output channels of a micro block
    uint32_t shram_size = 0;  ///< on-chip memory, whose last 2 KiB hold the tables
    uint8_t* shram = nullptr;
    bool planning = false;  ///< only find out how much workspace is needed
    Registers r;
    EthosURegion regions[8];
    Workspace workspace{nullptr, 0};
    EthosUWorkers workers;
    const char* command = "start";
    EthosUFault* fault = nullptr;
    std::atomic<bool> failed{false};

    /// Records the first fault, with a reason in printf's words. Always false, to be returned.
    bool fail(EthosUFaultCode code, const char* reason, ...) __attribute__((format(printf, 3, 4)));

    /// `count` elements of workspace, for this operation only. While planning, `out` is not memory.
    template <typename T>
    bool take(int64_t count, T*& out) {
        if (count >= kTooMany)
            return fail(EthosUFaultCode::kWorkspace,
                        "the operation is too large for any workspace");
        out = static_cast<T*>(workspace.take(static_cast<uint64_t>(count) * sizeof(T)));
        if (out == nullptr && !planning)
            return fail(EthosUFaultCode::kWorkspace, "the workspace is too small");
        return true;
    }

    /// Faults unless all registers have been set.
    template <typename... Rs>
    bool need(Rs... registers) {
        return (need_one(registers) && ...);
    }

    /// Runs `body(row, worker)` for the rows [0, count) until one returns false. `steps` is about
    /// how many elementary steps they take together: a few are not worth waking other workers.
    template <typename F>
    bool for_rows(int64_t count, int64_t steps, F&& body) {
        constexpr int64_t kWorthSharing = 1 << 20;
        struct Job {
            Machine& machine;
            F& body;
            std::atomic<int32_t> next{0};  // a row has a number below 2^21
            int64_t count;
        } job{*this, body, {0}, count};
        auto serve = [](void* argument, uint32_t worker) {
            Job& self = *static_cast<Job*>(argument);
            for (;;) {
                const int64_t row = self.next.fetch_add(1, std::memory_order_relaxed);
                if (row >= self.count || self.machine.failed || !self.body(row, worker)) return;
            }
        };
        if (workers.run != nullptr && workers.workers > 1 && count > 1 && steps >= kWorthSharing) {
            workers.run(workers.context, workers.workers, serve, &job);
        } else {
            serve(&job, 0);
        }
        return !failed;
    }

    /// `size` bytes to read at `address` of a region, or nullptr and a fault.
    const uint8_t* readable(uint32_t region, int64_t address, int64_t size, const char* what);
    /// The same to write; marks them as written.
    uint8_t* writable(uint32_t region, int64_t address, int64_t size, const char* what);

  private:
    bool need_one(R16 r);
    bool need_one(R32 r);
    bool inside(uint32_t region, int64_t address, int64_t size, const char* what);
};

bool run_convolution(Machine& m, bool depthwise);
bool run_pool(Machine& m, uint32_t mode);
bool run_elementwise(Machine& m, uint32_t mode);
bool run_dma(Machine& m);

}  // namespace arm_runtime::ethosu
