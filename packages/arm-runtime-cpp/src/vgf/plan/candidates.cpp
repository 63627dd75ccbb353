#include "candidates.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

namespace arm_runtime::vgf {
namespace {

// The first of each list changes nothing: it is what the planner chooses by itself. The others are
// in the order in which they are tried, for a search may end early.
constexpr Candidate kTiles[] = {
    {0, 0, true}, {0, 1, true},  {1, 0, true},  {0, -1, true}, {-1, 0, true},
    {0, 2, true}, {-1, 1, true}, {1, -1, true}, {0, -2, true}, {0, 0, false},
};
constexpr Candidate kSplits[] = {
    {0, 0, true}, {0, 1, true}, {0, -1, true}, {0, 2, true}, {0, -2, true}};

struct KernelCandidates {
    const char* kernel;
    const Candidate* rows;
    size_t count;
};

constexpr KernelCandidates kKernels[] = {
    {"gemm", kTiles, std::size(kTiles)},
    {"convolution", kSplits, std::size(kSplits)},
    {"reduce", kSplits, std::size(kSplits)},
    {"pool", kSplits, std::size(kSplits)},
};

}  // namespace

size_t choose_variant(Group& group, const char* kernel, const DeviceTraits& device, size_t count,
                      std::initializer_list<int64_t> sizes) {
    if (count < 2) return 0;
    group.variants.kernel = kernel;
    group.variants.count = count;
    std::string& key = group.variants.key;
    for (const auto& [id, value] : group.specialization) {
        key += std::to_string(id) + "=" + std::to_string(value) + ",";
    }
    for (const int64_t size : sizes) key += std::to_string(size) + ",";
    const size_t chosen = device.variant ? device.variant(kernel, key) : 0;
    return chosen < count ? chosen : 0;
}

const Candidate& choose_candidate(Group& group, const DeviceTraits& device, bool integers,
                                  std::initializer_list<int64_t> sizes) {
    const auto* const kernel = std::find_if(
        std::begin(kKernels), std::end(kKernels),
        [&](const KernelCandidates& k) { return std::strcmp(k.kernel, group.kernel) == 0; });
    if (!integers || group.variants.count != 0 || kernel == std::end(kKernels)) return kTiles[0];
    return kernel->rows[choose_variant(group, group.kernel, device, kernel->count, sizes)];
}

uint32_t scaled(uint32_t value, int power, uint32_t most) {
    const uint32_t out = power < 0 ? value >> -power : value << power;
    return std::clamp(out, 1U, most);
}

}  // namespace arm_runtime::vgf
