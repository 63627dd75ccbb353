// All state of a run, and the operations that work on it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "accelerators.hpp"
#include "blocks.hpp"
#include "hazards.hpp"
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

/// What an operation left on chip for the next ones, without a place in a region.
template <typename T>
struct Volume {
    T* data = nullptr;  ///< [height][width][depth]
    int64_t height = 0, width = 0, depth = 0;

    bool is(int64_t h, int64_t w, int64_t d) const {
        return height == h && width == w && depth == d;
    }
};

struct Machine {
    const Accelerator* accelerator = nullptr;
    uint8_t* on_chip = nullptr;  ///< `accelerator->on_chip_size` bytes
    bool planning = false;       ///< only find out how much workspace is needed
    Registers r;
    EthosURegion regions[8];
    Workspace workspace{nullptr, 0};
    static constexpr uint32_t kChains = 8;
    Volume<int32_t> chains[kChains];  ///< U85: feature maps between fused operations
    Volume<int64_t> accumulators;     ///< U85: for an operation that adds to them
    bool chained = false;             ///< U85: the next operation is fused with this one
    enum class Flag : uint8_t { kUnknown, kFalse, kTrue };
    Flag result = Flag::kUnknown;  ///< U85: what BRANCH asks, if the last kernel wrote one element
    uint64_t base = 0, held = 0;   ///< marks of the workspace: nothing held, and above what is
    Hazards hazards;
    Written before, made;  ///< by the kernel before the current one, and by that itself
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

    /// The same, but it lasts until an operation writes to a region. Before any `take`.
    template <typename T>
    bool allocate_chain(int64_t height, int64_t width, int64_t depth, Volume<T>& out) {
        out = {nullptr, height, width, depth};
        if (!take(product({height, width, depth}), out.data)) return false;
        held = workspace.mark();
        return true;
    }

    /// Forgets what is held, now that an operation writes to a region; its memory is free
    /// afterwards.
    void release_chain() {
        for (Volume<int32_t>& chain : chains) chain = {};
        accumulators = {};
        held = base;
        chained = false;
    }

    bool is_u85() const { return accelerator->family == EthosUFamily::kU85; }

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
            int64_t count = 0;
        } job{*this, body, {0}, count};
        const auto serve = [](void* argument, uint32_t worker) {
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

    /// `size` bytes at `address` of a region, written or not, or nullptr and a fault.
    const uint8_t* addressable(uint32_t region, int64_t address, int64_t size, const char* what);
    /// `size` bytes to read at `address` of a region, or nullptr and a fault.
    const uint8_t* readable(uint32_t region, int64_t address, int64_t size, const char* what);
    /// The same to write; marks them as written.
    uint8_t* writable(uint32_t region, int64_t address, int64_t size, const char* what);

    /// Notes that the operation reads or writes `size` bytes at `first`. Faults if an operation in
    /// flight may be in the way.
    bool check_access(uint32_t region, int64_t first, int64_t size, bool write, const char* what);

  private:
    bool need_one(R16 r);
    bool need_one(R32 r);
    bool inside(uint32_t region, int64_t address, int64_t size, const char* what);
};

bool run_convolution(Machine& m, bool depthwise, uint32_t mode);
bool run_pool(Machine& m, uint32_t mode);
bool run_elementwise(Machine& m, uint32_t mode);
bool run_dma(Machine& m);
bool run_resize_u85(Machine& m, uint32_t parameter);

}  // namespace arm_runtime::ethosu
