// VgfBackend, the ExecuTorch delegate that runs a VGF. Its payload is the whole VGF.
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/platform.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "../executorch_log.hpp"
#include "arm_runtime/vgf.hpp"

namespace arm_runtime::vgf {
namespace {

namespace et = executorch::runtime;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;

constexpr const char* kName = "VgfBackend";
constexpr size_t kMaxRank = 16;

std::optional<DataType> type_of(ScalarType type) {
    switch (type) {
        case ScalarType::Bool:
            return DataType::kBool;
        case ScalarType::Char:
            return DataType::kInt8;
        case ScalarType::Byte:
            return DataType::kUInt8;
        case ScalarType::Short:
            return DataType::kInt16;
        case ScalarType::UInt16:
            return DataType::kUInt16;
        case ScalarType::Int:
            return DataType::kInt32;
        case ScalarType::UInt32:
            return DataType::kUInt32;
        case ScalarType::Long:
            return DataType::kInt64;
        case ScalarType::Half:
            return DataType::kFloat16;
        case ScalarType::BFloat16:
            return DataType::kBFloat16;
        case ScalarType::Float:
            return DataType::kFloat32;
        default:
            return std::nullopt;
    }
}

/// What the delegate keeps of a loaded method.
struct Method {
    explicit Method(Session&& loaded) : session(std::move(loaded)) {
        const size_t count = session.inputs().size() + session.outputs().size();
        arguments.resize(count);
        shapes.resize(count * kMaxRank);
        events.reserve(64);
    }

    Session session;
    std::mutex mutex;
    // Room for a call's arguments, so that a call allocates nothing.
    std::vector<Argument> arguments;
    std::vector<int64_t> shapes;
    std::vector<Event> events;
};

/// A tensor as the program sees it: its sizes in the order in which its elements lie. Throws Error.
Argument convert(const et::EValue& value, int64_t* shape, size_t index) {
    const auto where = [index] { return "argument " + std::to_string(index); };
    if (!value.isTensor()) throw Error(where() + " is not a tensor");
    const Tensor tensor = value.toTensor();
    const auto type = type_of(tensor.scalar_type());
    if (!type) {
        throw Error(where() + " is " + et::toString(tensor.scalar_type()) +
                    ", a type that no VGF tensor has");
    }
    const size_t rank = tensor.sizes().size();
    if (rank > kMaxRank) throw Error(where() + " has rank " + std::to_string(rank));
    for (size_t i = 0; i < rank; ++i) shape[i] = tensor.sizes()[tensor.dim_order()[i]];
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): only outputs are written to
    return {const_cast<void*>(tensor.const_data_ptr()), *type, shape, rank};
}

[[noreturn]] void throw_count(const Method& method, size_t count) {
    throw Error("the program has " + std::to_string(method.arguments.size()) +
                " inputs and outputs, got " + std::to_string(count));
}

/// Where sizes vary: gives an output the shape that it has with the inputs, which are converted.
void resize(const Method& method, const et::EValue& value, size_t output) {
    if (method.session.symbols().empty() || !value.isTensor()) return;
    const auto& shapes =
        method.session.output_shapes(method.arguments.data(), method.session.inputs().size());
    const std::vector<int64_t>& shape = shapes[output];
    const Tensor tensor = value.toTensor();
    std::array<executorch::aten::SizesType, kMaxRank> sizes{};
    if (tensor.sizes().size() != shape.size()) return;  // the run will say so
    for (size_t i = 0; i < shape.size(); ++i) {
        sizes[tensor.dim_order()[i]] = static_cast<executorch::aten::SizesType>(shape[i]);
    }
    if (et::resize_tensor(tensor, {sizes.data(), shape.size()}) != et::Error::Ok) {
        throw Error("output " + std::to_string(output) +
                    " has no room for the shape that it has with these inputs: export it with "
                    "the bounds that the program has");
    }
}

void report(et::EventTracer* tracer, const std::vector<Event>& events) {
    // Ticks of ExecuTorch's clock, whose origin is not CLOCK_MONOTONIC's: anchored at this moment.
    const et_tick_ratio_t ratio = et_pal_ticks_to_ns_multiplier();
    const double ticks_per_ns =
        static_cast<double>(ratio.denominator) / static_cast<double>(ratio.numerator);
    const et_timestamp_t now = et_pal_current_ticks();
    uint64_t last = 0;
    for (const Event& event : events) last = std::max(last, event.end);
    const auto ticks = [&](uint64_t time) {
        return now - static_cast<et_timestamp_t>(static_cast<double>(last - time) * ticks_per_ns);
    };
    for (const Event& event : events) {
        const char* const place = event.on_device ? "device" : "host";
        const std::string name = std::string("VGF ") + place + ": " + event.name;
        tracer->log_profiling_delegate(name.c_str(), et::kUnsetDelegateDebugIntId,
                                       ticks(event.begin), ticks(event.end), place,
                                       std::strlen(place));
    }
}

class VgfBackend final : public et::BackendInterface {
  public:
    bool is_available() const override { return true; }

    et::Result<et::DelegateHandle*> init(et::BackendInitContext&, et::FreeableBuffer* processed,
                                         et::ArrayRef<et::CompileSpec>) const override {
        log_past_python();
        try {
            auto method =
                std::make_unique<Method>(Session(processed->data(), processed->size(), options()));
            if (!method->session.push_constants().empty()) {
                throw Error("segment '" + method->session.push_constants()[0].segment +
                            "' takes push constants, for which ExecuTorch has no place: run the "
                            "VGF with arm_runtime.vgf.Session");
            }
            processed->Free();
            return method.release();
        } catch (const std::exception& error) {
            ET_LOG(Error, "%s: %s", kName, error.what());
            return et::Error::DelegateInvalidCompatibility;
        }
    }

    et::Error execute(et::BackendExecutionContext& context, et::DelegateHandle* handle,
                      et::Span<et::EValue*> values) const override {
        auto& method = *static_cast<Method*>(handle);
        try {
            method.session.require_same_process();
            const std::lock_guard<std::mutex> lock(method.mutex);
            const size_t inputs = method.session.inputs().size();
            size_t count = 0;
            for (size_t i = 0; i < values.size(); ++i) {
                // Sizes are given as numbers, too: the tensors have them.
                if (values[i]->isInt()) continue;
                if (count == method.arguments.size()) throw_count(method, values.size());
                int64_t* const shape = &method.shapes[count * kMaxRank];
                if (count >= inputs) resize(method, *values[i], count - inputs);
                method.arguments[count++] = convert(*values[i], shape, i);
            }
            if (count != method.arguments.size()) throw_count(method, count);
            et::EventTracer* const tracer = context.event_tracer();
            method.events.clear();
            method.session.run(method.arguments.data(), inputs, method.arguments.data() + inputs,
                               method.session.outputs().size(), tracer ? &method.events : nullptr);
            if (tracer) report(tracer, method.events);
            return et::Error::Ok;
        } catch (const std::exception& error) {
            ET_LOG(Error, "%s: %s", kName, error.what());
            return et::Error::InvalidArgument;
        }
    }

    /// "device", "engine" and "tune": see Options.
    et::Error set_option(et::BackendOptionContext&,
                         const et::Span<et::BackendOption>& given) override {
        for (const et::BackendOption& option : given) {
            using Text = std::array<char, et::kMaxOptionValueLength>;
            const auto* const text = std::get_if<Text>(&option.value);
            // A span of options has memory. NOLINTNEXTLINE(clang-analyzer-*)
            const std::string key(option.key);
            if ((key != "device" && key != "engine" && key != "tune") || text == nullptr) {
                ET_LOG(Error,
                       "%s: no option '%s' of this type; it has 'device', 'engine' and 'tune', "
                       "strings",
                       kName, option.key);
                return et::Error::InvalidArgument;
            }
            const std::string value(text->data(), strnlen(text->data(), text->size()));
            try {
                set(key, value);
            } catch (const std::exception& error) {
                ET_LOG(Error, "%s: %s", kName, error.what());
                return et::Error::InvalidArgument;
            }
        }
        return et::Error::Ok;
    }

    void destroy(et::DelegateHandle* handle) const override { delete static_cast<Method*>(handle); }

  private:
    void set(const std::string& key, const std::string& value) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (key == "device") device_ = value;
        if (key == "engine") engine_ = engine_named(value);
        if (key == "tune") tuning_ = tuning_named(value);
    }

    Options options() const {
        Options options = options_from_environment();
        const std::lock_guard<std::mutex> lock(mutex_);
        if (device_) options.device = *device_;
        if (engine_) options.engine = *engine_;
        if (tuning_) options.tuning = *tuning_;
        return options;
    }

    mutable std::mutex mutex_;
    std::optional<std::string> device_;
    std::optional<EngineKind> engine_;
    std::optional<Tuning> tuning_;
};

// ExecuTorch registers what is not const.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
VgfBackend backend;
// NOLINTNEXTLINE(bugprone-throwing-static-initialization): ExecuTorch throws nothing
[[maybe_unused]] const et::Error registered = et::register_backend({kName, &backend});

}  // namespace
}  // namespace arm_runtime::vgf
