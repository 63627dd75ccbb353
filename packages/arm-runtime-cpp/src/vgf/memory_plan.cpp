#include "memory_plan.hpp"

#include <algorithm>
#include <numeric>

#include "arm_runtime/vgf.hpp"

namespace arm_runtime::vgf {
namespace {

uint64_t end_of(const Block& block) {
    uint64_t end = 0;
    if (__builtin_add_overflow(block.offset, block.size, &end))
        throw Error("the program needs too much memory");
    return end;
}

}  // namespace

uint64_t aligned(uint64_t offset, uint64_t alignment) {
    uint64_t up = 0;
    if (__builtin_add_overflow(offset, alignment - 1, &up))
        throw Error("the program needs too much memory");
    return up & ~(alignment - 1);
}

uint64_t plan(std::vector<Block>& blocks) {
    std::vector<size_t> order(blocks.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return blocks[a].size > blocks[b].size; });
    std::stable_partition(order.begin(), order.end(), [&](size_t i) { return blocks[i].placed; });
    std::vector<const Block*> placed;  // by offset
    uint64_t total = 0;
    for (const size_t index : order) {
        Block& block = blocks[index];
        if (!block.placed) block.offset = 0;
        for (const Block* other : placed) {
            if (block.placed) break;
            if (other->last < block.first || block.last < other->first) continue;
            if (end_of(block) <= other->offset) break;
            block.offset = std::max(block.offset, aligned(end_of(*other), block.alignment));
        }
        total = std::max(total, end_of(block));
        placed.insert(
            std::upper_bound(placed.begin(), placed.end(), &block,
                             [](const Block* a, const Block* b) { return a->offset < b->offset; }),
            &block);
    }
    return total;
}

}  // namespace arm_runtime::vgf
