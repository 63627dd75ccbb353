// A command buffer that is recorded once and run many times.
#pragma once

#include "device.hpp"

namespace arm_runtime::vgf {

/// Nanoseconds of CLOCK_MONOTONIC.
uint64_t now();

class Submission {
  public:
    /// `queries`: timestamps that it writes, at most; 0: none.
    Submission(Device& device, uint32_t queries);

    /// Between begin and end, commands are recorded, in place of those that were before.
    const vk::raii::CommandBuffer& begin();
    void end();
    /// Notes when all that was recorded before is done, as the `query`-th timestamp; nothing where
    /// the queue has none.
    void timestamp(uint32_t query);

    /// Runs it, and waits for the end. Throws Error after 10 minutes.
    void run();
    /// Nanoseconds when the last run was handed over and when it was done.
    uint64_t submitted() const { return submitted_; }
    uint64_t done() const { return done_; }

    /// When each of the first `count` timestamps of the last run was written. The device's clock is
    /// not ours: the last one counts as the moment that we saw it done.
    std::vector<uint64_t> times(uint32_t count) const;

  private:
    void wait();

    Device& device_;
    vk::raii::CommandPool pool_{nullptr};
    vk::raii::CommandBuffer commands_{nullptr};
    vk::raii::Fence fence_{nullptr};
    vk::raii::QueryPool queries_{nullptr};
    uint32_t query_count_;
    uint64_t submitted_ = 0;
    uint64_t done_ = 0;
    uint64_t last_run_ = 0;  ///< ns from submission to the end
};

}  // namespace arm_runtime::vgf
