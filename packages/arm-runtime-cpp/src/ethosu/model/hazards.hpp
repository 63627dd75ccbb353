// What operations in flight read and write. Kernels (operations on feature maps) and DMA transfers
// run beside each other, and a command stream keeps them apart by waiting: KERNEL_WAIT n and
// DMA_WAIT n until at most n are in flight. Kernels among themselves are in order.
#pragma once

#include <cstdint>

namespace arm_runtime::ethosu {

struct Range {
    uint32_t region = 0;  ///< `kOnChip` for the tables' memory
    bool write = false;
    int64_t first = 0, end = 0;
};
constexpr uint32_t kOnChip = 8;

class Hazards {
  public:
    enum class Kind : uint8_t { kKernel, kDma };

    void set_capacity(uint32_t kernels, uint32_t dmas) {
        queues_[0].capacity = kernels;
        queues_[1].capacity = dmas;
    }
    /// Begins an operation, after which the oldest one is not in flight any more if there are too
    /// many. With `fused` it is a part of the kernel before it.
    void begin(Kind kind, bool fused, uint32_t command_index);
    /// Leaves at most `count` in flight.
    void wait(Kind kind, uint32_t count);
    /// Notes what the operation that began last reads or writes. True if there is an operation in
    /// flight that must have ended before; `kind` and `command_index` are then its own.
    bool conflicts(const Range& range, Kind& kind, uint32_t& command_index);

  private:
    static constexpr uint32_t kMostOperations = 4, kMostRanges = 24;
    struct Operation {
        uint32_t command_index = 0, count = 0;
        Range ranges[kMostRanges];

        void add(const Range& range);
        bool conflicts(const Range& range) const;
    };
    struct Queue {
        Operation operations[kMostOperations];  ///< oldest first
        uint32_t count = 0, capacity = 0;

        void drop_oldest();
    };
    Queue queues_[2];
    Kind current_ = Kind::kKernel;
};

}  // namespace arm_runtime::ethosu
