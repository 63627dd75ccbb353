// Runs a VGF program (Arm's container for SPIR-V graphs and compute shaders) on a Vulkan device.
//
//     using namespace arm_runtime::vgf;
//     Session session(file.data(), file.size(), options_from_environment());
//     session.run(inputs.data(), inputs.size(), outputs.data(), outputs.size());
//
// `file` is a std::vector<char>, `inputs` and `outputs` are std::vector<Argument>.
//
// Threads: several threads may load and run several sessions at once. Runs of one session wait for
// each other. No call may be under way when a session is destroyed or moved.
//
// Devices: sessions with equal Options share a VkDevice and its queue. It is the library's own, and
// lives as long as the process; for a device of yours, see <arm_vgf/vgf.hpp>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#define ARM_VGF_EXPORT __attribute__((visibility("default")))

namespace arm_runtime::vgf {

/// What went wrong, where, and what to do about it.
class ARM_VGF_EXPORT Error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
    Error(const std::string& text, int32_t result) : std::runtime_error(text), result_(result) {}

    /// The VkResult of a call of Vulkan that failed; 0: none did.
    int32_t vulkan_result() const noexcept { return result_; }
    /// VK_ERROR_DEVICE_LOST: what was made on the VkDevice is to be destroyed, and made anew on a
    /// new one.
    bool is_device_lost() const noexcept { return result_ == -4; }

  private:
    int32_t result_ = 0;
};

enum class DataType : uint8_t {
    kBool,
    kInt8,
    kUInt8,
    kInt16,
    kUInt16,
    kInt32,
    kInt64,  ///< only of arguments: a VGF has none
    kFloat16,
    kBFloat16,
    kFloat32,
    kUInt32,
};

/// "int8", "float32", ...
ARM_VGF_EXPORT const char* name_of(DataType type);

/// Bytes of an element.
ARM_VGF_EXPORT size_t size_of(DataType type);

/// A size that a run chooses, such as that of a batch.
struct Symbol {
    std::string name;
    int64_t least = 1;
    int64_t most = 1;
};

/// An input or output of a program. Where sizes vary: at the most of every symbol.
struct TensorInfo {
    std::string name;
    DataType type;
    std::vector<int64_t> shape;  ///< in the order in which the elements lie
    size_t bytes;
    /// Each dimension: its size, or an expression of symbols such as "batch" or "8*length+1".
    std::vector<std::string> sizes;
};

/// The memory that a caller passes for an input or output: all elements of the tensor, in row-major
/// order, without gaps. Inputs are only read. An int64 argument fits an int32 tensor; inputs that
/// int32 cannot hold are an error.
struct Argument {
    void* data;
    DataType type;
    const int64_t* shape;  ///< as in TensorInfo, or smaller where a symbol says so; a scalar may
                           ///< have rank 0
    size_t rank;
};

/// Push constants of a compute shader. A program has no values for them.
struct PushConstantInfo {
    std::string segment;  ///< the shader's name in the program
    size_t offset;        ///< of the first byte, as the shader counts
    size_t bytes;
};

/// A span of time, in nanoseconds of CLOCK_MONOTONIC.
struct Event {
    const char* name;  ///< lives as long as the session
    bool on_device;
    uint64_t begin;
    uint64_t end;
};

/// Device memory of a session, in bytes.
struct MemoryUse {
    uint64_t inputs;  ///< 0: they lie in the work memory
    uint64_t outputs;
    uint64_t work;       ///< intermediate tensors and what the device needs while a graph runs
    uint64_t saved;      ///< what `work` would be larger by if nothing in it shared memory
    uint64_t constants;  ///< of the compute engine; other engines do not tell
};

/// Who runs a program's graphs.
enum class EngineKind : uint8_t {
    kAny,      ///< only in Options: native if a device can, else compute
    kNative,   ///< the device itself, by VK_ARM_tensors and VK_ARM_data_graph
    kCompute,  ///< kernels of this library, on any Vulkan 1.1 device
    kLayer,    ///< Arm's emulation layer for both extensions, on any Vulkan 1.3 device
};

/// "native", "compute", "layer"; "any".
ARM_VGF_EXPORT const char* name_of(EngineKind engine);
/// The engine of that name. Throws Error: there is none.
ARM_VGF_EXPORT EngineKind engine_named(const std::string& name);

/// When the variants of kernels are timed, at a program's first load on a device, to run the
/// fastest from then on. Outputs do not depend on it.
enum class Tuning : uint8_t {
    kOn,      ///< on GPUs
    kOff,     ///< the variants that are fast on most devices; what was found before counts still
    kAlways,  ///< each load goes on with what is left; on software renderers as well
};

/// The tuning of that name: "on", "off", "always"; "1" and "0" are on and off. Throws Error.
ARM_VGF_EXPORT Tuning tuning_named(const std::string& name);

/// What Arm's neural accelerators count while a graph runs, where a device has
/// VK_ARM_data_graph_neural_accelerator_statistics.
enum class Counting : uint8_t {
    kOff,
    kMode0,  ///< VK_NEURAL_ACCELERATOR_STATISTICS_MODE_STATISTICS_0_ARM
    kMode1,
};

/// The mode of that name: "off", "0", "1". Throws Error.
ARM_VGF_EXPORT Counting counting_named(const std::string& name);

/// What a neural accelerator tells of a graph. Its bytes have formats of the accelerator's own,
/// which Arm's tools read.
struct Statistic {
    std::string segment;
    /// "debug database" and "statistics info", which do not change, and "statistics": of the last
    /// run.
    std::string kind;
    std::vector<uint8_t> bytes;
};

/// For tests of this library alone.
struct TestOptions {
    int variant = -1;          ///< of every kernel, in place of what is fastest; -1: none
    std::string wrong_kernel;  ///< whose self-test fails: "gemm", "gemm+dot", "gemm.fp32"
};

struct Options {
    /// Part of a device's name, in upper or lower case, or its number in the loader's order; digits
    /// alone are a number. Of several that fit, and if empty, of all: the fastest by its type.
    std::string device;
    EngineKind engine = EngineKind::kAny;
    /// Where compiled pipelines are kept between processes; made when it is needed. Empty: nowhere.
    std::string cache_folder;
    Tuning tuning = Tuning::kOn;
    /// Of a program: the shapes of its inputs, in order, where the file leaves sizes open (-1):
    /// "[2, 4]". Names are sizes that runs choose; their bounds follow: "[n, 2*m+1] [m] n=1..8
    /// m=2..16". Of a file that leaves none open it does not matter.
    std::string sizes;
    /// Loading fails if the device cannot count.
    Counting statistics = Counting::kOff;
    TestOptions test;
};

/// `ARM_VGF_DEVICE`, `ARM_VGF_ENGINE` (native, compute or layer), `ARM_VGF_TUNE` (see
/// tuning_named), and `ARM_VGF_CACHE`, which may be empty, or else `arm_runtime` in $XDG_CACHE_HOME
/// or ~/.cache. No other function reads these variables. Throws Error: no such engine or tuning.
ARM_VGF_EXPORT Options options_from_environment();

/// What would run programs with these options.
struct DeviceInfo {
    std::string name;  ///< as Session::device
    EngineKind engine;
    std::string engine_reason;
};
/// Opens the device, which sessions with the same options then use. Throws Error, as Session does.
ARM_VGF_EXPORT DeviceInfo find_device(const Options& options);

/// A loaded program, ready to run.
class ARM_VGF_EXPORT Session {
  public:
    /// Checks and loads a program; `data` may go away afterwards.
    ///
    /// Throws Error: a malformed or unsupported program (it names the segment and the field), no
    /// Vulkan loader, driver or emulation layer (it says what to install), or a Vulkan call failed.
    Session(const void* data, size_t size, const Options& options);
    ~Session();
    Session(Session&&) noexcept;
    Session& operator=(Session&&) noexcept;

    const std::vector<TensorInfo>& inputs() const;
    const std::vector<TensorInfo>& outputs() const;
    /// What a run's inputs may choose, by their shapes; empty if all sizes are fixed. The engines
    /// `native` and `layer` run the largest sizes only.
    const std::vector<Symbol>& symbols() const;
    /// The shapes of the outputs of a run with inputs of these types and shapes. They live as long
    /// as the session. Throws Error: an input does not fit, or inputs disagree on a symbol.
    const std::vector<std::vector<int64_t>>& output_shapes(const Argument* inputs,
                                                           size_t input_count) const;
    const MemoryUse& memory() const;
    /// The device's name; ends with "(emulated)" where Arm's emulation layer is in use.
    const std::string& device() const;
    /// Who runs graphs, and why, as a sentence for a log.
    EngineKind engine() const;
    const std::string& engine_reason() const;
    /// The compute engine's dispatches, as JSON: a list of objects with kernel, operators, shape,
    /// bytes, macs and variant. Of another engine: "[]".
    const std::string& plan() const;

    /// What the program's compute shaders take besides its inputs; most take nothing.
    const std::vector<PushConstantInfo>& push_constants() const;
    /// Gives the push constants of a number; they hold until they are given again. All must be
    /// there before the first run. Throws Error: there is no such number, or `bytes` are not as
    /// many as it takes.
    void set_push_constants(size_t index, const void* data, size_t bytes);

    /// What the device counted, if the options asked for it, segment by segment; empty otherwise.
    /// Throws Error: the device failed.
    std::vector<Statistic> statistics() const;

    /// Throws Error: this process was forked from the one that loaded the program, and cannot run
    /// it. Whoever locks a mutex of their own around `run` calls this first.
    void require_same_process() const;

    /// Runs the program once, and returns when the outputs are there. Allocates nothing, but
    /// after new push constants, at other sizes than the last run's, and for `profile`, to which it
    /// appends the copies and the whole run on the host, then what the device did: each dispatch
    /// with the engine `compute`, each segment with the others; nothing if the device has no time
    /// stamps.
    ///
    /// Throws Error: as require_same_process, an argument does not fit or push constants are
    /// missing (found before anything is copied), or an int64 input is out of range; the session is
    /// as good as before. Or the device was lost (Error::is_device_lost): destroy the sessions
    /// then, and load programs anew, which opens the device anew. Or it did not finish in 10
    /// minutes: end the process then.
    ///
    /// For sizes that no run had before, no pipeline is compiled and no device memory allocated.
    void run(const Argument* inputs, size_t input_count, const Argument* outputs,
             size_t output_count, std::vector<Event>* profile = nullptr);

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace arm_runtime::vgf
