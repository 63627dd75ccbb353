// How many threads share what one result takes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "planner.hpp"

namespace arm_runtime::vgf {

/// Steps of one thread at most. Mesa's llvmpipe leaves a shader's loops without a word after 65535
/// rounds in all, and a kernel may take some for a step: one for each of four elements.
constexpr int64_t kMostSteps = 8191;

/// Threads without which a loop over `steps` would be too long for one.
inline uint32_t least_lanes(int64_t steps) {
    uint32_t lanes = 1;
    while (lanes < 64 && steps > kMostSteps * lanes) lanes *= 2;
    return lanes;
}

/// Threads that share the `steps` of four elements of a result of `count`: enough to fill a GPU,
/// `least` where there is work for them. A CPU has few threads, which are better off with one.
inline uint32_t lanes_of(int64_t count, int64_t steps, uint32_t least, const DeviceTraits& device) {
    uint32_t lanes = least_lanes(steps);
    while (device.threads > 1 && lanes < 64 && steps >= int64_t{4} * lanes &&
           (lanes < least || (count + 3) / 4 * lanes < device.threads)) {
        lanes *= 2;
    }
    return lanes;
}

/// Elements of a workgroup of 64 threads.
inline uint32_t elements_of_group(uint32_t lanes) { return 4 * 64 / lanes; }

}  // namespace arm_runtime::vgf
