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
    const DeviceCalls& calls = device_.calls();
    VkCommandPoolCreateInfo pool{};
    pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool.queueFamilyIndex = device_.queue_family();
    pool_ = make<VkCommandPool>(device_.handle(), calls.CreateCommandPool, calls.DestroyCommandPool,
                                pool, "vkCreateCommandPool");
    VkCommandBufferAllocateInfo allocate{};
    allocate.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    allocate.commandPool = pool_;
    allocate.commandBufferCount = 1;
    check(calls.AllocateCommandBuffers(device_.handle(), &allocate, &commands_),
          "vkAllocateCommandBuffers");
    VkFenceCreateInfo fence{};
    fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    fence_ = make<VkFence>(device_.handle(), calls.CreateFence, calls.DestroyFence, fence,
                           "vkCreateFence");
    if (query_count_ != 0) {
        VkQueryPoolCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
        info.queryType = VK_QUERY_TYPE_TIMESTAMP;
        info.queryCount = query_count_;
        queries_ = make<VkQueryPool>(device_.handle(), calls.CreateQueryPool,
                                     calls.DestroyQueryPool, info, "vkCreateQueryPool");
    }
}

VkCommandBuffer Submission::begin() {
    const DeviceCalls& calls = device_.calls();
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    check(calls.BeginCommandBuffer(commands_, &begin), "vkBeginCommandBuffer");
    if (queries_) calls.CmdResetQueryPool(commands_, queries_, 0, query_count_);
    return commands_;
}

void Submission::end() { check(device_.calls().EndCommandBuffer(commands_), "vkEndCommandBuffer"); }

void Submission::run() {
    check(device_.calls().ResetFences(device_.handle(), 1, fence_.address()), "vkResetFences");
    submitted_ = now();
    device_.submit(commands_, fence_);
    wait();
    done_ = now();
    last_run_ = done_ - submitted_;
}

/// On a GPU, sleeps through most of the time that the last run took and looks at the fence for the
/// rest: to be woken by the driver takes longer.
void Submission::wait() {
    const auto poll = [this](uint64_t timeout) {
        const VkResult result =
            device_.calls().WaitForFences(device_.handle(), 1, fence_.address(), VK_TRUE, timeout);
        if (result != VK_TIMEOUT) check(result, "vkWaitForFences");
        return result == VK_SUCCESS;
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
    if (!queries_ || count == 0) return {};
    std::vector<uint64_t> ticks(count);
    check(device_.calls().GetQueryPoolResults(
              device_.handle(), queries_, 0, count, count * sizeof(uint64_t), ticks.data(),
              sizeof(uint64_t), VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
          "vkGetQueryPoolResults");
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
