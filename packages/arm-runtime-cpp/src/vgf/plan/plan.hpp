// What a graph becomes: dispatches of kernels, and the memory that they work in.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../graph/graph.hpp"
#include "kernel.hpp"

namespace arm_runtime::vgf {

/// Bytes of one of the four buffers (BUFFER_... of kernels/steps.h).
struct Slot {
    uint32_t buffer = 0;
    uint64_t offset = 0;
    uint64_t bytes = 0;
};

inline bool overlap(const Slot& a, const Slot& b) {
    return a.buffer == b.buffer && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

/// A number that kernels hold in 32 bits: planning refuses what is larger.
inline int32_t int_of(int64_t value) { return static_cast<int32_t>(value); }

/// Ints of push constants: 128 bytes, which every device has.
constexpr size_t kPushInts = 32;

constexpr uint32_t kNoSegment = ~0U;

/// Dispatches of a kernel with the same key have the same variants, of which one is the fastest.
struct Variants {
    const char* kernel = "";                    ///< whose variants these are
    std::array<const char*, 2> others{"", ""};  ///< kernels that some of them are instead; "": none
    std::string key;
    size_t count = 0;  ///< 0 or 1: there is no choice
};

/// What is known of a dispatch before memory is planned.
struct KernelCall {
    const char* kernel = "";       ///< the name of a file of kernels/
    bool dot = false;              ///< it has integer dot products
    const char* tested_type = "";  ///< of its self-test: "fp32", "i16", ...; "": int8
    std::vector<std::pair<uint32_t, uint32_t>> specialization;  ///< constant_id and value
    std::array<int32_t, kPushInts> push{};
    bool full_subgroups = false;  ///< its threads count on whole subgroups
    Variants variants;
    bool apart = false;  ///< writes other words than the calls before it that make the same tensor
    // For people.
    std::string text;   ///< the operators
    std::string shape;  ///< of the result
    uint64_t macs = 0;  ///< multiplications that are added up
};

struct Dispatch : KernelCall {
    uint32_t segment = kNoSegment;  ///< a compute shader of the VGF, which has its kernel itself
    uint32_t part = 0;              ///< the segment that it is of, graph or shader
    std::shared_ptr<const std::vector<uint32_t>>
        spirv;  ///< the kernel with this dispatch's program in it; equal ones are one
    std::array<uint32_t, 2> groups{};
    std::vector<Slot> reads;
    std::vector<Slot> writes;
};

struct Plan {
    std::vector<Dispatch> dispatches;
    std::vector<uint8_t> constants;  ///< what the constants' buffer holds
    /// Where there are bytes already, by their hash.
    std::unordered_multimap<uint64_t, std::pair<uint64_t, uint64_t>> known_constants;
    /// The code of kernels with programs in them, by kernel and program.
    std::map<std::string, std::shared_ptr<const std::vector<uint32_t>>> code;
    uint64_t work_bytes = 0;
    uint64_t saved_bytes = 0;  ///< what work_bytes would be larger by without sharing
};

/// Where a resource that a graph takes or gives lies, by resource.
using ResourceSlots = std::vector<Slot>;

/// Matrices that the threads of a subgroup multiply together, whose sums are MATRIX_SIDE by
/// MATRIX_SIDE (VK_KHR_cooperative_matrix).
struct MatrixUnits {
    uint32_t subgroup = 0;  ///< threads
    uint32_t int8 = 0;  ///< bytes of a row of int8, summed as int32: 16, 32, or 0: there are none
    uint32_t fp16 = 0;  ///< the same of float16, summed as float32
};

/// What the choice of kernels depends on.
struct DeviceTraits {
    bool dot = false;  ///< integer dot products
    MatrixUnits matrix;
    /// Labels of kernels that compute wrongly there (see label_of). They are planned only where
    /// there is no other kernel.
    std::set<std::string> wrong;
    int64_t threads = 32768;       ///< that keep it busy; 1: a software renderer
    int64_t max_threads = 128;     ///< of a workgroup; what every Vulkan device has
    int64_t shared_bytes = 16384;  ///< of a workgroup's shared memory; what every Vulkan device has
    /// Which of its variants a kernel runs in, by kernel and key. None: the first.
    std::function<size_t(const char* kernel, const std::string& key)> variant;
};

/// Plans a graph, which is the same afterwards. Intermediate values lie in the work buffer from
/// `work_begin` on, constants behind what `plan.constants` holds already; dispatches are appended.
/// Inputs that lie there too share their memory with what comes after their last reader.
///
/// Throws Error: an operator that no kernel of this build runs.
void make_plan(Graph& graph, const ResourceSlots& resources, const DeviceTraits& device,
               uint64_t work_begin, Plan& plan);

}  // namespace arm_runtime::vgf
