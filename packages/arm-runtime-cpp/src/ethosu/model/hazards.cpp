#include "hazards.hpp"

#include <initializer_list>

namespace arm_runtime::ethosu {

void Hazards::Operation::add(const Range& range) {
    if (count < kMostRanges) {
        ranges[count++] = range;
        return;
    }
    for (Range& known : ranges) {  // many operations fused into one: a larger range stands for two
        if (known.region != range.region || known.write != range.write) continue;
        known.first = range.first < known.first ? range.first : known.first;
        known.end = range.end > known.end ? range.end : known.end;
        return;
    }
}

bool Hazards::Operation::conflicts(const Range& range) const {
    for (uint32_t i = 0; i < count; ++i) {
        const Range& known = ranges[i];
        if (known.region == range.region && (known.write || range.write) &&
            known.first < range.end && range.first < known.end) {
            return true;
        }
    }
    return false;
}

void Hazards::Queue::drop_oldest() {
    for (uint32_t i = 1; i < count; ++i) operations[i - 1] = operations[i];
    --count;
}

void Hazards::begin(Kind kind, bool fused, uint32_t command_index) {
    current_ = kind;
    Queue& queue = queues_[static_cast<int>(kind)];
    if (fused && queue.count > 0) return;
    if (queue.count == queue.capacity) queue.drop_oldest();
    Operation& operation = queue.operations[queue.count++];
    operation.command_index = command_index;
    operation.count = 0;
}

void Hazards::wait(Kind kind, uint32_t count) {
    Queue& queue = queues_[static_cast<int>(kind)];
    while (queue.count > count) queue.drop_oldest();
}

bool Hazards::conflicts(const Range& range, Kind& kind, uint32_t& command_index) {
    Queue& mine = queues_[static_cast<int>(current_)];
    mine.operations[mine.count - 1].add(range);
    for (const Kind other : {Kind::kKernel, Kind::kDma}) {
        const Queue& queue = queues_[static_cast<int>(other)];
        if (other == Kind::kKernel && current_ == Kind::kKernel) continue;
        const uint32_t before = other == current_ ? queue.count - 1 : queue.count;
        for (uint32_t i = 0; i < before; ++i) {
            if (!queue.operations[i].conflicts(range)) continue;
            kind = other;
            command_index = queue.operations[i].command_index;
            return true;
        }
    }
    return false;
}

}  // namespace arm_runtime::ethosu
