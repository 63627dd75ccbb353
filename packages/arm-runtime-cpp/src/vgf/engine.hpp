// What runs the segments of a program. Both engines are used by Session alone, which checks
// arguments and holds the locks.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "arm_runtime/vgf.hpp"
#include "device.hpp"
#include "parsed_file.hpp"
#include "plan/plan.hpp"

namespace arm_runtime::vgf {

class Engine {
  public:
    Engine() = default;
    virtual ~Engine() = default;
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// Where the host writes the program's inputs and reads its outputs.
    virtual uint8_t* input(size_t index) = 0;
    virtual const uint8_t* output(size_t index) = 0;
    virtual const MemoryUse& memory() const = 0;
    /// See Session::plan.
    virtual const std::string& plan() const = 0;

    /// From here on, the program runs at these sizes: see Graphs.
    virtual void choose(size_t) {}

    /// Gives a segment its push constants, as many bytes as it takes, for the runs from now on. A
    /// program that takes some must have them all before it runs.
    virtual void push(uint32_t segment, const uint8_t* bytes) = 0;

    /// See Session::statistics.
    virtual std::vector<Statistic> statistics() const { return {}; }

    /// Of the compute engine: the kernels that run, in the order of the profile's events; where
    /// sizes vary, those of each size.
    virtual std::vector<const Dispatch*> dispatches() const { return {}; }

    /// Records the program into a command buffer of another's, at the sizes that were chosen last.
    /// What was recorded before it on the queue is done with the program's memory first; inputs
    /// are read, and outputs written, by compute shaders, in `input_buffer` and `output_buffer`.
    /// Only of the compute engine, whose push constants are all there.
    virtual void record(const vk::raii::CommandBuffer&) {}
    /// From here on, the buffers of inputs and outputs have changed places: each of Use::states is
    /// an input where it was an output. Not of `input` and `output`.
    virtual void swap() {}
    /// Whether constants wait for `record_upload`: see Use::record_upload.
    virtual bool needs_upload() const { return false; }
    virtual void record_upload(const vk::raii::CommandBuffer&) {}
    /// What was recorded is done: frees the memory that constants came from.
    virtual void end_upload() {}
    /// Where the program's memory has an input or an output. Only of the compute engine.
    virtual vk::DescriptorBufferInfo input_buffer(size_t) const { return {}; }
    virtual vk::DescriptorBufferInfo output_buffer(size_t) const { return {}; }

    /// Runs the program once, and waits for it. Appends what the device did to `profile`, if there
    /// is one. Throws Error.
    virtual void run(std::vector<Event>* profile) = 0;
};

/// On VK_ARM_data_graph, of the device or of Arm's emulation layer. It keeps nothing of the file
/// but the program.
std::unique_ptr<Engine> make_native_engine(Device& device, const ParsedFile& file,
                                           Counting counting = Counting::kOff);

/// Graphs of a program's only segment in place of that of its code: one for each of its sizes.
struct Graphs {
    size_t count = 1;
    std::function<const Graph&(size_t number)> at;  ///< until the next call; empty: of the code
};

/// Who writes inputs and reads outputs.
enum class Ports : uint8_t {
    kHost,    ///< `input` and `output` are memory
    kDevice,  ///< shaders: what is recorded; `input`, `output` and `run` are of no use
};

/// An output of a run that is an input of the next one, by number: of the same type and shape, and
/// in memory that they share with nothing.
struct StatePair {
    size_t output;
    size_t input;
};

/// How the compute engine is used.
struct Use {
    Ports ports = Ports::kHost;
    bool record_upload = false;  ///< constants that need a submission wait for `record_upload`
    bool test_kernels = true;    ///< those that were not tested on the device; else they are used
    std::vector<StatePair> states = {};  // NOLINT(readability-redundant-member-init)
};

/// On kernels of our own, planned for these traits. It keeps nothing of the file but the program.
std::unique_ptr<Engine> make_compute_engine(Device& device, const ParsedFile& file,
                                            const DeviceTraits& traits, const Graphs& graphs = {},
                                            const Use& use = {});

/// What `memory` of that engine is. Nothing is allocated. Throws Error, as making the engine does.
MemoryUse compute_memory(Device& device, const ParsedFile& file, const DeviceTraits& traits,
                         const Graphs& graphs, const Use& use);

}  // namespace arm_runtime::vgf
