// arm_vgf::Program: a program in an application's command buffers.
#include <mutex>
#include <optional>

#include "application.hpp"
#include "ports.hpp"
#include "push_values.hpp"
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
        const std::lock_guard<std::mutex> lock(device_.loading());
        with_errors([&] {
            const SharedCache cache(device_, options.pipeline_cache);
            engine_ = make_tuned_engine(device_, file, options_of(options),
                                        graphs_at(sizes_, graph), Ports::kDevice);
            for (const bool outputs : {false, true}) {
                const size_t count = (outputs ? sizes_.outputs() : sizes_.inputs()).size();
                ports_.emplace_back(device_, *engine_, count, outputs, frames_);
            }
            cache.give();
            device_.cache().save();
            device_.facts().save();
        });
        for (const auto* infos : {&sizes_.inputs(), &sizes_.outputs()}) {
            std::vector<std::vector<int64_t>>& shapes = shapes_.emplace_back();
            for (const TensorInfo& info : *infos) shapes.push_back(info.shape);
        }
    }

    ~Impl() {
        const std::lock_guard<std::mutex> lock(device_.loading());
        ports_.clear();
        engine_.reset();
    }

    template <typename... Place>
    void bind(uint32_t frame, const std::string& name, const Place&... place) {
        check(frame);
        const auto [outputs, port] = find(name);
        const TensorInfo& info = (outputs ? sizes_.outputs() : sizes_.inputs())[port];
        const std::string text = (outputs ? "output '" : "input '") + name + "'";
        with_errors([&, outputs = outputs, port = port] {
            ports_[outputs ? 1 : 0].bind(
                frame, port, {info.type, shapes_[outputs ? 1 : 0][port], text}, place...);
        });
    }

    void resize(const std::vector<std::vector<int64_t>>& input_shapes) {
        const std::vector<TensorInfo>& infos = sizes_.inputs();
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
        for (FramePorts& ports : ports_) ports.unbind();
    }

    void set_push_constants(size_t index, const void* data, size_t bytes) {
        push_values_.check(index, data, bytes);
        push_values_.give(*engine_, index, data);
    }

    void record(VkCommandBuffer commands, uint32_t frame) {
        check(frame);
        for (const bool outputs : {false, true}) {
            const std::vector<TensorInfo>& infos = outputs ? sizes_.outputs() : sizes_.inputs();
            const size_t port = ports_[outputs ? 1 : 0].first_unbound(frame);
            if (port == infos.size()) continue;
            throw Error((outputs ? "output '" : "input '") + infos[port].name +
                        "' is not bound in frame " + std::to_string(frame));
        }
        push_values_.check_all();
        if (commands == VK_NULL_HANDLE) throw Error("the command buffer is null");
        with_errors([&] {
            engine_->choose(number_);
            const Borrowed borrowed(device_.vulkan(), commands);
            barrier(*borrowed);
            ports_[0].record(*borrowed, frame);
            barrier(*borrowed);
            engine_->record(*borrowed);
            barrier(*borrowed);
            ports_[1].record(*borrowed, frame);
        });
    }

    const Sizes& sizes() const { return sizes_; }
    const MemoryUse& memory() const { return engine_->memory(); }
    const PushValues& push_values() const { return push_values_; }
    const std::vector<std::vector<int64_t>>& output_shapes() const { return shapes_[1]; }

  private:
    void check(uint32_t frame) const {
        if (frame >= frames_) {
            throw Error("frame " + std::to_string(frame) + " of " + std::to_string(frames_));
        }
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
    std::unique_ptr<Engine> engine_;
    std::vector<FramePorts> ports_;                          ///< of inputs, of outputs
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

void Program::bind(uint32_t frame, const std::string& name, VkBuffer buffer, VkDeviceSize offset) {
    impl_->bind(frame, name, buffer, offset);
}

void Program::bind(uint32_t frame, const std::string& name, const Image& image) {
    impl_->bind(frame, name, image);
}

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
