#include "blocks.hpp"

namespace arm_runtime::ethosu {
namespace {

constexpr int64_t kMostRuns = 1024;      ///< of a part that is compared run by run
constexpr int64_t kMostStretches = 128;  ///< of a run beside another step: no block is wider

/// `count` stretches of `bytes`, each `step` after the one before.
struct Run {
    int64_t first, step, count, bytes;

    int64_t end() const { return first + (count - 1) * step + bytes; }
};

/// The same bytes, as one stretch where nothing lies between.
Run joined(const Run& run) {
    return run.step <= run.bytes ? Run{run.first, 0, 1, run.end() - run.first} : run;
}

/// Whether two runs have bytes in common that are one stretch or have the same step.
bool overlap_in_step(const Run& a, const Run& b) {
    const int64_t step = a.count > 1 ? a.step : b.step, distance = b.first - a.first;
    if (a.count == 1 && b.count == 1) return true;  // their extents meet
    // Stretch i of a and stretch i + shift of b are `distance + shift * step` apart.
    const int64_t below = -b.bytes - distance;
    const int64_t floor = below >= 0 ? below / step : -((-below + step - 1) / step);
    const int64_t shift = at_least(floor + 1, 1 - a.count);
    return shift < b.count && distance + shift * step < a.bytes;
}

bool overlap(const Run& one, const Run& other) {
    if (one.first >= other.end() || other.first >= one.end()) return false;
    const Run a = joined(one), b = joined(other);
    if (a.count == 1 || b.count == 1 || a.step == b.step) return overlap_in_step(a, b);
    const Run &few = a.count < b.count ? a : b, &many = a.count < b.count ? b : a;
    if (few.count > kMostStretches) return true;
    for (int64_t i = 0; i < few.count; ++i) {
        const Run stretch = {few.first + i * few.step, 0, 1, few.bytes};
        if (stretch.first < many.end() && many.first < stretch.end() &&
            overlap_in_step(stretch, many)) {
            return true;
        }
    }
    return false;
}

/// Calls `use(run)` for each row of a part, or of each row of bricks, until one returns false.
template <typename F>
bool for_runs(const Placement& map, const Box& box, F&& use) {
    const int64_t element = map.element, step = map.bricks ? kBrick * element : map.stride_x;
    const int64_t deep = map.bricks ? kBrick : box.to[2];
    for (int64_t y = box.from[0]; y < box.to[0]; ++y) {
        const bool all =
            for_tiles(map, y, box.to[1], [&](int64_t base, int64_t first, int64_t columns) {
                const int64_t from = at_least(box.from[1] - first, 0), count = columns - from;
                if (count <= 0) return true;
                for (int64_t c = box.from[2]; c < box.to[2];) {
                    const int64_t brick = map.bricks ? c / kBrick : 0;
                    const int64_t next = at_most((brick + 1) * deep, box.to[2]);
                    const int64_t start =
                        base + brick * map.stride_c + (c - brick * deep) * element + from * step;
                    const int64_t back = step < 0 ? (count - 1) * step : 0;
                    const Run run = {start + back, step < 0 ? -step : step, count,
                                     (next - c) * element};
                    if (!use(run)) return false;
                    c = next;
                }
                return true;
            });
        if (!all) return false;
    }
    return true;
}

int64_t runs(const Placement& map, const Box& box) {
    const int64_t bricks = map.bricks ? (box.to[2] - box.from[2]) / kBrick + 2 : 1;
    return 2 * (box.to[0] - box.from[0]) * bricks;
}

Run extent(const Placement& map, const Box& box) {
    int64_t first = INT64_MAX, end = INT64_MIN;
    for_runs(map, box, [&](const Run& run) {
        first = at_most(first, run.first);
        end = at_least(end, run.end());
        return true;
    });
    if (first >= end) return {0, 0, 0, 0};  // an empty part
    return {first, 0, 1, end - first};
}

}  // namespace

bool overlap(const Placement& a, const Box& in_a, const Placement& b, const Box& in_b) {
    if (a.region != b.region) return false;
    if (runs(a, in_a) > kMostRuns || runs(b, in_b) > kMostRuns) return true;
    const Run all_a = extent(a, in_a), all_b = extent(b, in_b);
    if (all_a.count == 0 || all_b.count == 0 || !overlap(all_a, all_b)) return false;
    const bool apart = for_runs(a, in_a, [&](const Run& one) {
        return !overlap(one, all_b) ||
               for_runs(b, in_b, [&](const Run& other) { return !overlap(one, other); });
    });
    return !apart;
}

Box Blocks::at(int64_t i) const {
    const int64_t position[] = {i / (along(1) * along(2)), i / along(2) % along(1), i % along(2)};
    Box box{};
    for (int axis = 0; axis < 3; ++axis) {
        box.from[axis] = position[axis] * block[axis];
        box.to[axis] = at_most(box.from[axis] + block[axis], size[axis]);
    }
    return box;
}

}  // namespace arm_runtime::ethosu
