// arm_vgf::Program: a program in an application's command buffers.
#include <algorithm>
#include <mutex>
#include <optional>

#include "application.hpp"
#include "ports.hpp"
#include "push_values.hpp"
#include "shape_text.hpp"
#include "sized_program.hpp"
#include "tuner.hpp"

namespace arm_vgf {

using namespace arm_runtime::vgf;

namespace {

Options options_of(const ProgramOptions& options) {
    Options out;
    out.engine = EngineKind::kCompute;
    out.tuning = options.tuning;
    out.sizes = options.sizes;
    return out;
}

/// The tensor of this name. Throws Error: there is none, or several.
size_t find(const std::vector<TensorInfo>& infos, const std::string& name, const char* kind) {
    size_t found = infos.size();
    for (size_t i = 0; i < infos.size(); ++i) {
        if (infos[i].name != name) continue;
        if (found != infos.size()) {
            throw Error(std::string("a state: several ") + kind + "s are called '" + name + "'");
        }
        found = i;
    }
    if (found == infos.size()) {
        std::string names;
        for (const TensorInfo& info : infos) {
            names += (names.empty() ? "'" : ", '") + info.name + "'";
        }
        throw Error(std::string("a state: no ") + kind + " is called '" + name + "'; there are " +
                    names);
    }
    return found;
}

/// Whether a resource's memory is that of no other input or output, and lies at home.
bool is_alone(const arm_runtime::vgf::Program& program, uint32_t resource, Role home) {
    const auto shares = [&](const Port& port) {
        return program.resources[port.resource].storage == program.resources[resource].storage;
    };
    return program.resources[resource].home == home &&
           std::count_if(program.inputs.begin(), program.inputs.end(), shares) +
                   std::count_if(program.outputs.begin(), program.outputs.end(), shares) ==
               1;
}

/// Throws Error: a state is not one.
std::vector<StatePair> states_of(const ParsedFile& file, const Sizes& sizes,
                                 const std::vector<State>& states) {
    std::vector<StatePair> pairs;
    for (const State& state : states) {
        const StatePair pair{find(sizes.outputs(), state.output, "output"),
                             find(sizes.inputs(), state.input, "input")};
        const TensorInfo& from = sizes.outputs()[pair.output];
        const TensorInfo& to = sizes.inputs()[pair.input];
        const std::string text =
            "the state from output '" + from.name + "' to input '" + to.name + "': ";
        for (const StatePair& other : pairs) {
            if (other.output == pair.output || other.input == pair.input) {
                throw Error(text + "one of them is in another state");
            }
        }
        if (from.type != to.type || from.sizes != to.sizes) {
            throw Error(text + "they are " + name_of(from.type) + " " + shape_text(from.shape) +
                        " and " + name_of(to.type) + " " + shape_text(to.shape) +
                        ": type and sizes must be the same");
        }
        if (!is_alone(file.program, file.program.outputs[pair.output].resource, Role::kOutput) ||
            !is_alone(file.program, file.program.inputs[pair.input].resource, Role::kInput)) {
            throw Error(text + "one of them shares its memory with another input or output");
        }
        pairs.push_back(pair);
    }
    return pairs;
}

Use use_of(const ParsedFile& file, const Sizes& sizes, const ProgramOptions& options) {
    Use use;
    use.states = states_of(file, sizes, options.states);
    use.ports = Ports::kDevice;
    use.record_upload = options.upload == Upload::kRecorded;
    use.test_kernels = options.test_kernels;
    return use;
}

/// A pipeline cache of an application, while a program is loaded: ours takes over what is in it,
/// and gives it all that there is then.
class SharedCache {
  public:
    SharedCache(arm_runtime::vgf::Device& device, VkPipelineCache cache)
        : device_(device), cache_(cache) {
        if (cache_) device.cache().handle().merge(cache_);
    }
    void give() const {
        const auto& owner = device_.vulkan();
        if (cache_)
            (*owner).mergePipelineCaches(cache_, *device_.cache().handle(), *owner.getDispatcher());
    }

  private:
    arm_runtime::vgf::Device& device_;
    vk::PipelineCache cache_;
};

/// Whatever was done before to the program's memory, before whatever comes.
void barrier(const vk::raii::CommandBuffer& commands) {
    using Access = vk::AccessFlagBits;
    constexpr auto kStages =
        vk::PipelineStageFlagBits::eComputeShader | vk::PipelineStageFlagBits::eTransfer;
    // Uniform buffers of a VGF's compute shaders are not among what eShaderRead is of.
    const vk::MemoryBarrier memory(Access::eShaderWrite | Access::eTransferWrite,
                                   Access::eUniformRead | Access::eShaderRead |
                                       Access::eShaderWrite | Access::eTransferRead |
                                       Access::eTransferWrite);
    commands.pipelineBarrier(kStages, kStages, {}, memory, {}, {});
}

/// What a program does in each frame, recorded once, to be executed in the application's command
/// buffers: of a frame, one for each place that states may have.
class Replays {
  public:
    Replays(const arm_runtime::vgf::Device& device, uint32_t frames)
        : pool_(device.vulkan(), vk::CommandPoolCreateInfo()
                                     .setFlags(vk::CommandPoolCreateFlagBits::eResetCommandBuffer)
                                     .setQueueFamilyIndex(device.queue_family())),
          is_recorded_(size_t{2} * frames) {
        vk::raii::CommandBuffers made(device.vulkan(),
                                      vk::CommandBufferAllocateInfo()
                                          .setCommandPool(*pool_)
                                          .setLevel(vk::CommandBufferLevel::eSecondary)
                                          .setCommandBufferCount(2 * frames));
        commands_ = std::move(made);
    }

    void forget(uint32_t frame) {
        const size_t first = size_t{2} * frame;
        is_recorded_[first] = is_recorded_[first + 1] = false;
    }
    void forget_all() { std::fill(is_recorded_.begin(), is_recorded_.end(), false); }

    /// The commands of a frame, which `record` records where there are none.
    template <typename Record>
    const vk::raii::CommandBuffer& of(uint32_t frame, bool swapped, Record record) {
        const size_t number = 2 * size_t{frame} + (swapped ? 1 : 0);
        const vk::raii::CommandBuffer& commands = commands_[number];
        if (!is_recorded_[number]) {
            const vk::CommandBufferInheritanceInfo inherited;
            commands.begin(vk::CommandBufferBeginInfo()
                               .setFlags(vk::CommandBufferUsageFlagBits::eSimultaneousUse)
                               .setPInheritanceInfo(&inherited));
            record(commands);
            commands.end();
            is_recorded_[number] = true;
        }
        return commands;
    }

  private:
    vk::raii::CommandPool pool_;
    std::vector<vk::raii::CommandBuffer> commands_;
    std::vector<bool> is_recorded_;
};

}  // namespace

class Program::Impl {
  public:
    Impl(const void* vgf, size_t bytes, const Device& device, const ProgramOptions& options)
        : Impl(read_file(vgf, bytes, options.sizes), device, options) {}

    Impl(const ParsedFile& file, const Device& device, const ProgramOptions& options)
        : Impl(file, sized_graph(file), device, options) {}

    Impl(const ParsedFile& file, std::optional<SizedGraph> graph, const Device& device,
         const ProgramOptions& options)
        : owner_(device.impl()),
          device_(owner_->device),
          sizes_(file.program, graph ? &*graph : nullptr),
          push_values_(file.program.segments),
          number_(sizes_.largest()),
          frames_(options.frames_in_flight) {
        if (frames_ == 0) throw Error("frames_in_flight is 0: a program needs one at least");
        const Use use = use_of(file, sizes_, options);
        has_states_ = !use.states.empty();
        const std::lock_guard<std::mutex> lock(device_.loading());
        try {
            with_errors([&] { load(file, graph, options, use); });
        } catch (...) {
            free();  // while the lock is held
            throw;
        }
        needs_upload_ = engine_->needs_upload();
        for (const auto* infos : {&sizes_.inputs(), &sizes_.outputs()}) {
            std::vector<std::vector<int64_t>>& shapes = shapes_.emplace_back();
            for (const TensorInfo& info : *infos) shapes.push_back(info.shape);
        }
    }

    ~Impl() {
        if (device_.is_forked()) {
            // What the driver has stays as it is: it is the parent's.
            [[maybe_unused]] const Engine* parents = engine_.release();
            [[maybe_unused]] const std::vector<FramePorts>* ports = ports_.release();
            [[maybe_unused]] const Replays* replays = replays_.release();
            return;
        }
        const std::lock_guard<std::mutex> lock(device_.loading());
        free();
    }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    template <typename... Place>
    void bind(uint32_t frame, const std::string& name, const Place&... place) {
        check(frame);
        const auto [outputs, port] = find(name);
        bind_port(frame, outputs, port, place...);
    }

    template <typename... Place>
    void bind(uint32_t frame, bool outputs, size_t port, const Place&... place) {
        check(frame);
        const size_t count = (outputs ? sizes_.outputs() : sizes_.inputs()).size();
        if (port >= count) {
            const std::string kind = outputs ? "output" : "input";
            throw Error(kind + " " + std::to_string(port) + ": the program has " +
                        std::to_string(count) + " " + kind + "s, numbered from 0");
        }
        bind_port(frame, outputs, port, place...);
    }

    void restart() { start_ = true; }

    void resize(const std::vector<std::vector<int64_t>>& input_shapes) {
        const std::vector<TensorInfo>& infos = sizes_.inputs();
        if (sizes_.symbols().empty() && input_shapes != shapes_[0]) {
            throw Error(
                "the program's sizes are fixed: export the model with sizes that vary "
                "(torch.export.Dim), or make a program of another VGF for other sizes");
        }
        if (input_shapes.size() != infos.size()) {
            throw Error("the program has " + std::to_string(infos.size()) + " inputs, got " +
                        std::to_string(input_shapes.size()) + " shapes");
        }
        std::vector<Argument> arguments;
        arguments.reserve(infos.size());
        for (size_t i = 0; i < infos.size(); ++i) {
            arguments.push_back(
                {nullptr, infos[i].type, input_shapes[i].data(), input_shapes[i].size()});
        }
        number_ = sizes_.number_of(arguments.data());
        shapes_ = {input_shapes, sizes_.output_shapes(number_)};
        for (FramePorts& ports : *ports_) ports.unbind();
        if (replays_) replays_->forget_all();
        restart();
    }

    void set_push_constants(size_t index, const void* data, size_t bytes) {
        push_values_.check(index, data, bytes);
        push_values_.give(*engine_, index, data);
        if (replays_) replays_->forget_all();
    }

    void record(VkCommandBuffer commands, uint32_t frame) {
        check(frame);
        for (const bool outputs : {false, true}) {
            const std::vector<TensorInfo>& infos = outputs ? sizes_.outputs() : sizes_.inputs();
            const size_t port = (*ports_)[outputs ? 1 : 0].first_unbound(frame);
            if (port == infos.size()) continue;
            throw Error((outputs ? "output '" : "input '") + infos[port].name +
                        "' is not bound in frame " + std::to_string(frame));
        }
        push_values_.check_all();
        if (needs_upload_) {
            throw Error(
                "the program's constants are not uploaded: record_upload comes before the first "
                "record");
        }
        if (commands == VK_NULL_HANDLE) throw Error("the command buffer is null");
        with_errors([&] {
            engine_->choose(number_);
            const Borrowed borrowed(device_.vulkan(), commands);
            const auto record_now = [&](const vk::raii::CommandBuffer& to) { write(to, frame); };
            // Where states are fresh, their inputs are read from where they are bound.
            if (replays_ && !(has_states_ && start_)) {
                (*borrowed).executeCommands(*replays_->of(frame, swapped_, record_now));
            } else {
                record_now(*borrowed);
            }
        });
        start_ = false;
        if (!has_states_) return;
        engine_->swap();
        swapped_ = !swapped_;
    }

    void record_upload(VkCommandBuffer commands) {
        if (commands == VK_NULL_HANDLE) throw Error("the command buffer is null");
        with_errors([&] {
            const Borrowed borrowed(device_.vulkan(), commands);
            engine_->record_upload(*borrowed);
        });
        needs_upload_ = false;
    }

    void end_upload() {
        if (needs_upload_) throw Error("end_upload comes after record_upload");
        const std::lock_guard<std::mutex> lock(device_.loading());
        engine_->end_upload();
    }

    bool needs_upload() const { return needs_upload_; }
    const Sizes& sizes() const { return sizes_; }
    const MemoryUse& memory() const { return engine_->memory(); }
    const PushValues& push_values() const { return push_values_; }
    const std::vector<std::vector<int64_t>>& output_shapes() const { return shapes_[1]; }

  private:
    void write(const vk::raii::CommandBuffer& commands, uint32_t frame) {
        device_.names().begin(*commands, "arm_vgf");
        barrier(commands);
        (*ports_)[0].record(commands, frame, swapped_, start_);
        barrier(commands);
        engine_->record(commands);
        barrier(commands);
        (*ports_)[1].record(commands, frame, swapped_, start_);
        device_.names().end(*commands);
    }

    void load(const ParsedFile& file, std::optional<SizedGraph>& graph,
              const ProgramOptions& options, const Use& use) {
        const SharedCache cache(device_, options.pipeline_cache);
        engine_ =
            make_tuned_engine(device_, file, options_of(options), graphs_at(sizes_, graph), use);
        for (const bool outputs : {false, true}) {
            ports_->emplace_back(device_, *engine_, outputs ? sizes_.outputs() : sizes_.inputs(),
                                 outputs, frames_, use.states);
        }
        if (options.replay) replays_ = std::make_unique<Replays>(device_, frames_);
        cache.give();
        device_.cache().save();
        device_.facts().save();
    }

    void free() {
        replays_.reset();
        ports_->clear();
        engine_.reset();
    }

    void check(uint32_t frame) const {
        if (frame >= frames_) {
            throw Error("frame " + std::to_string(frame) + ": frames are numbered 0 to " +
                        std::to_string(frames_ - 1) +
                        ", as many as ProgramOptions::frames_in_flight says");
        }
    }

    template <typename... Place>
    void bind_port(uint32_t frame, bool outputs, size_t port, const Place&... place) {
        const TensorInfo& info = (outputs ? sizes_.outputs() : sizes_.inputs())[port];
        const std::string text = (outputs ? "output '" : "input '") + info.name + "'";
        with_errors([&] {
            (*ports_)[outputs ? 1 : 0].bind(
                frame, port, {info.type, shapes_[outputs ? 1 : 0][port], text}, place...);
        });
        if (replays_) replays_->forget(frame);
    }

    /// Whether it is an output, and its number.
    std::pair<bool, size_t> find(const std::string& name) const {
        std::vector<std::pair<bool, size_t>> found;
        std::string names;
        for (const bool outputs : {false, true}) {
            const std::vector<TensorInfo>& infos = outputs ? sizes_.outputs() : sizes_.inputs();
            for (size_t i = 0; i < infos.size(); ++i) {
                if (infos[i].name == name) found.emplace_back(outputs, i);
                names += (names.empty() ? "'" : ", '") + infos[i].name + "'";
            }
        }
        if (found.size() == 1) return found[0];
        throw Error((found.empty() ? "nothing" : "more than one tensor") +
                    std::string(" is called '") + name + "'; there are " + names);
    }

    std::shared_ptr<Device::Impl> owner_;
    arm_runtime::vgf::Device& device_;
    Sizes sizes_;
    PushValues push_values_;
    size_t number_;
    const uint32_t frames_;
    bool needs_upload_ = false;
    bool has_states_ = false;
    bool swapped_ = false;  ///< as the engine's memory is
    bool start_ = true;     ///< states are fresh in the next frame
    std::unique_ptr<Engine> engine_;
    /// Of inputs, of outputs.
    std::unique_ptr<std::vector<FramePorts>> ports_ = std::make_unique<std::vector<FramePorts>>();
    std::unique_ptr<Replays> replays_;                       ///< nullptr: frames are recorded anew
    std::vector<std::vector<std::vector<int64_t>>> shapes_;  ///< the same, as they were chosen
};

Program::Program(const void* vgf, size_t bytes, const Device& device, const ProgramOptions& options)
    : impl_(std::make_unique<Impl>(vgf, bytes, device, options)) {}
Program::~Program() = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;

const std::vector<TensorInfo>& Program::inputs() const { return impl_->sizes().inputs(); }
const std::vector<TensorInfo>& Program::outputs() const { return impl_->sizes().outputs(); }
const std::vector<Symbol>& Program::symbols() const { return impl_->sizes().symbols(); }
const MemoryUse& Program::memory() const { return impl_->memory(); }

MemoryUse Program::memory_needed(const void* vgf, size_t bytes, const Device& device,
                                 const ProgramOptions& options) {
    const ParsedFile file = read_file(vgf, bytes, options.sizes);
    std::optional<SizedGraph> graph = sized_graph(file);
    const Sizes sizes(file.program, graph ? &*graph : nullptr);
    arm_runtime::vgf::Device& on = device.impl()->device;
    const std::lock_guard<std::mutex> lock(on.loading());
    return with_errors([&] {
        return compute_memory(on, file, tuned_traits(on, options_of(options)),
                              graphs_at(sizes, graph), use_of(file, sizes, options));
    });
}

bool Program::needs_upload() const { return impl_->needs_upload(); }
void Program::record_upload(VkCommandBuffer commands) { impl_->record_upload(commands); }
void Program::end_upload() { impl_->end_upload(); }

void Program::bind(uint32_t frame, const std::string& name, VkBuffer buffer, VkDeviceSize offset) {
    impl_->bind(frame, name, buffer, offset);
}

void Program::bind(uint32_t frame, const std::string& name, const Image& image) {
    impl_->bind(frame, name, image);
}

void Program::bind_input(uint32_t frame, size_t index, VkBuffer buffer, VkDeviceSize offset) {
    impl_->bind(frame, false, index, buffer, offset);
}

void Program::bind_input(uint32_t frame, size_t index, const Image& image) {
    impl_->bind(frame, false, index, image);
}

void Program::bind_output(uint32_t frame, size_t index, VkBuffer buffer, VkDeviceSize offset) {
    impl_->bind(frame, true, index, buffer, offset);
}

void Program::bind_output(uint32_t frame, size_t index, const Image& image) {
    impl_->bind(frame, true, index, image);
}

void Program::restart() { impl_->restart(); }

void Program::resize(const std::vector<std::vector<int64_t>>& input_shapes) {
    impl_->resize(input_shapes);
}

const std::vector<std::vector<int64_t>>& Program::output_shapes() const {
    return impl_->output_shapes();
}

const std::vector<PushConstantInfo>& Program::push_constants() const {
    return impl_->push_values().infos();
}

void Program::set_push_constants(size_t index, const void* data, size_t bytes) {
    impl_->set_push_constants(index, data, bytes);
}

void Program::record(VkCommandBuffer commands, uint32_t frame) { impl_->record(commands, frame); }

}  // namespace arm_vgf
