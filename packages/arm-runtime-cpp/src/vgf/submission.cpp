#include "submission.hpp"

#include <algorithm>
#include <ctime>
#include <vector>

namespace arm_runtime::vgf {
namespace {

// Far longer than any program that is meant to end.
constexpr uint64_t kTimeout = 600'000'000'000;  // ns

// A GPU's interrupt reaches a sleeping thread up to this late; so does a timer.
constexpr uint64_t kWakeUp = 200'000;  // ns

void sleep_for(uint64_t nanoseconds) {
    const timespec time{static_cast<time_t>(nanoseconds / 1'000'000'000),
                        static_cast<long>(nanoseconds % 1'000'000'000)};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

}  // namespace

uint64_t now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

Submission::Submission(Device& device, uint32_t queries)
    : device_(device), query_count_(device.timestamp_period() != 0 ? queries : 0) {
    const vk::raii::Device& owner = device.vulkan();
    pool_ = {owner, vk::CommandPoolCreateInfo()
                        .setFlags(vk::CommandPoolCreateFlagBits::eResetCommandBuffer)
                        .setQueueFamilyIndex(device.queue_family())};
    const auto buffers =
        vk::CommandBufferAllocateInfo().setCommandPool(*pool_).setCommandBufferCount(1);
    commands_ = std::move(vk::raii::CommandBuffers(owner, buffers).front());
    fence_ = {owner, vk::FenceCreateInfo()};
    if (query_count_ == 0) return;
    queries_ = {owner, vk::QueryPoolCreateInfo()
                           .setQueryType(vk::QueryType::eTimestamp)
                           .setQueryCount(query_count_)};
}

const vk::raii::CommandBuffer& Submission::begin() {
    commands_.begin({});
    if (query_count_ != 0) commands_.resetQueryPool(*queries_, 0, query_count_);
    return commands_;
}

void Submission::timestamp(uint32_t query) {
    if (query_count_ == 0) return;
    commands_.writeTimestamp(vk::PipelineStageFlagBits::eBottomOfPipe, *queries_, query);
}

void Submission::end() { commands_.end(); }

void Submission::run() {
    device_.vulkan().resetFences(*fence_);
    submitted_ = now();
    device_.submit(*commands_, *fence_);
    wait();
    done_ = now();
    last_run_ = done_ - submitted_;
}

/// On a GPU, sleeps through most of the time that the last run took and looks at the fence for the
/// rest: to be woken by the driver takes longer.
void Submission::wait() {
    const auto poll = [this](uint64_t timeout) {
        return device_.vulkan().waitForFences(*fence_, VK_TRUE, timeout) == vk::Result::eSuccess;
    };
    bool done = false;
    if (!device_.is_cpu()) {
        const uint64_t nap = last_run_ - last_run_ / 8;
        if (nap > 2 * kWakeUp) sleep_for(nap - kWakeUp);
        const uint64_t patience = submitted_ + 2 * last_run_ + kWakeUp;
        do done = poll(0);
        while (!done && now() < patience);
    }
    if (!done && !poll(kTimeout)) throw Error(device_.name() + " did not finish in 10 minutes");
}

std::vector<uint64_t> Submission::times(uint32_t count) const {
    if (query_count_ == 0 || count == 0) return {};
    const auto flags = vk::QueryResultFlagBits::e64 | vk::QueryResultFlagBits::eWait;
    const auto [result, ticks] =
        queries_.getResults<uint64_t>(0, count, count * sizeof(uint64_t), sizeof(uint64_t), flags);
    std::vector<uint64_t> out;
    out.reserve(count);
    for (const uint64_t tick : ticks) {
        const auto ago = static_cast<double>(ticks.back() - tick);
        const auto elapsed = static_cast<uint64_t>(ago * device_.timestamp_period());
        out.push_back(std::max(submitted_, done_ - std::min(elapsed, done_)));
    }
    return out;
}

}  // namespace arm_runtime::vgf
