// The ExecuTorch delegate "EthosUBackend".
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/event_tracer_hooks_delegate.h>
#include <executorch/runtime/platform/log.h>

#include <cstring>
#include <new>
#include <string_view>

#include "network.hpp"

namespace arm_runtime::ethosu {
namespace {

namespace et = executorch::runtime;
using executorch::aten::Tensor;

/// Logs a text of any length; ExecuTorch cuts a line at 256 characters.
void log_error(const char* text) {
    constexpr size_t kLine = 200;
    for (size_t left = std::strlen(text); left > 0;) {
        size_t size = left;
        if (size > kLine)
            for (size = kLine; size > kLine / 2 && text[size] != ' ';) --size;
        ET_LOG(Error, "EthosUBackend: %.*s", static_cast<int>(size), text);
        text += size;
        left -= size;
    }
}

/// An event in the ETDump, from here to the end of the scope.
class Event {
  public:
    Event(et::EventTracer* tracer, const char* name)
        : tracer_(tracer),
          entry_(et::event_tracer_start_profiling_delegate(tracer, name, kUnsetId)) {}
    ~Event() { et::event_tracer_end_profiling_delegate(tracer_, entry_); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;

  private:
    // The function takes an unsigned id and hands it on as the signed one that it stands for.
    static constexpr et::DebugHandle kUnsetId =
        static_cast<et::DebugHandle>(et::kUnsetDelegateDebugIntId);
    et::EventTracer* tracer_;
    et::EventTracerEntry entry_;
};

struct Handle {
    static constexpr size_t kMostNamed = 5;
    /// Named data that the payload refers to, kept from being freed.
    alignas(et::FreeableBuffer) unsigned char named[kMostNamed][sizeof(et::FreeableBuffer)];
    size_t named_count = 0;
    const et::NamedDataMap* map = nullptr;
    Payload payload;
    Network* network = nullptr;

    Handle() = default;
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    ~Handle() {
        if (network != nullptr) network->~Network();
        for (size_t i = 0; i < named_count; ++i)
            reinterpret_cast<et::FreeableBuffer*>(named[i])->~FreeableBuffer();
    }
};

constexpr size_t kNameSize = 64;  ///< of named data, in a payload

bool find_named(void* context, const char* name, size_t name_size, Bytes& found) {
    auto* handle = static_cast<Handle*>(context);
    char text[kNameSize + 1] = {};
    if (handle->map == nullptr || handle->named_count == Handle::kMostNamed) return false;
    if (name_size > kNameSize) return false;
    // ExecuTorch's map of several .ptd files reads a name up to its 0, and a payload has none
    // there.
    std::memcpy(text, name, name_size);
    et::Result<et::FreeableBuffer> data = handle->map->get_data(std::string_view(text, name_size));
    if (!data.ok()) return false;
    const auto* kept =
        new (handle->named[handle->named_count++]) et::FreeableBuffer(std::move(data.get()));
    found = {static_cast<const uint8_t*>(kept->data()), kept->size()};
    return true;
}

void* take(void* context, size_t size, size_t alignment) {
    return static_cast<et::MemoryAllocator*>(context)->allocate(size, alignment);
}

et::Error fail(et::Error error, const char* what, uint32_t index, const char* problem) {
    ET_LOG(Error, "EthosUBackend: %s %u %s", what, static_cast<unsigned>(index), problem);
    return error;
}

/// Whether the argument is a tensor of this size; nothing is copied before all are.
et::Error check(const et::EValue& argument, const Slot& slot, const char* what, uint32_t index) {
    if (!argument.isTensor())
        return fail(et::Error::InvalidArgument, what, index, "is not a tensor");
    const Tensor tensor = argument.toTensor();
    if (static_cast<size_t>(tensor.element_size()) != slot.element_size)
        return fail(et::Error::InvalidArgument, what, index,
                    "has elements of another size than the compiled program's");
    if (tensor.nbytes() != slot.size)
        return fail(et::Error::InvalidArgument, what, index,
                    "has another size than the compiled program's");
    if (tensor.const_data_ptr() == nullptr)
        return fail(et::Error::InvalidArgument, what, index, "has no memory");
    return et::Error::Ok;
}

class EthosUBackend final : public et::BackendInterface {
  public:
    bool is_available() const override { return true; }

    et::Result<et::DelegateHandle*> init(et::BackendInitContext& context,
                                         et::FreeableBuffer* processed,
                                         et::ArrayRef<et::CompileSpec>) const override {
        prepare_log();
        et::MemoryAllocator* allocator = context.get_runtime_allocator();
        auto* memory = static_cast<Handle*>(allocator->allocate(sizeof(Handle), alignof(Handle)));
        if (memory == nullptr) return et::Error::MemoryAllocationFailed;
        auto* handle = new (memory) Handle;
        handle->map = context.get_named_data_map();
        const et::Result<const void*> data = processed->data_safe();
        const Bytes stream{data.ok() ? static_cast<const uint8_t*>(data.get()) : nullptr,
                           data.ok() ? processed->size() : 0};
        if (const char* problem = read_payload(stream, {find_named, handle}, handle->payload)) {
            ET_LOG(Error, "EthosUBackend: the payload %s", problem);
            handle->~Handle();
            return et::Error::InvalidProgram;
        }
        handle->network = open_network(handle->payload, {take, allocator}, log_error);
        if (handle->network == nullptr) {
            handle->~Handle();
            return et::Error::NotSupported;
        }
        return handle;
    }

    et::Error execute(et::BackendExecutionContext& context, et::DelegateHandle* delegate,
                      et::Span<et::EValue*> arguments) const override {
        const auto* handle = static_cast<const Handle*>(delegate);
        const Slots inputs = handle->payload.inputs, outputs = handle->payload.outputs;
        if (arguments.size() != size_t{inputs.count()} + outputs.count())
            return fail(et::Error::InvalidProgram, "the call, with so many arguments:",
                        static_cast<uint32_t>(arguments.size()), "does not fit the payload");
        for (uint32_t i = 0; i < inputs.count(); ++i)
            if (const et::Error e = check(*arguments[i], inputs[i], "input", i); e != et::Error::Ok)
                return e;
        for (uint32_t i = 0; i < outputs.count(); ++i) {
            const Slot slot = outputs[i];
            if (!slot.placed)
                return fail(et::Error::InvalidProgram, "output", i, "has no place in the payload");
            if (const et::Error e = check(*arguments[inputs.count() + i], slot, "output", i);
                e != et::Error::Ok)
                return e;
        }

        // Firmware may run without a temporary allocator.
        const size_t size = handle->network->temporary_size();
        et::MemoryAllocator* allocator = context.get_temp_allocator();
        void* memory = allocator != nullptr
                           ? allocator->allocate(size > 0 ? size : 1, kMemoryAlignment)
                           : nullptr;
        if (memory == nullptr) {
            ET_LOG(Error,
                   "EthosUBackend: the temporary allocator does not have the %zu bytes of a run",
                   size);
            return et::Error::MemoryAllocationFailed;
        }
        auto* temporary = static_cast<uint8_t*>(memory);
        et::EventTracer* tracer = context.event_tracer();
        uint8_t* scratch = handle->network->scratch(temporary, log_error);
        if (scratch == nullptr) return et::Error::Internal;
        {
            const Event event(tracer, "EthosU copy inputs");
            for (uint32_t i = 0; i < inputs.count(); ++i)
                if (const Slot slot = inputs[i]; slot.placed)
                    std::memcpy(scratch + slot.offset, arguments[i]->toTensor().const_data_ptr(),
                                slot.size);
        }
        {
            const Event event(tracer, "EthosU run");
            if (!handle->network->run(temporary, log_error)) return et::Error::Internal;
        }
        {
            const Event event(tracer, "EthosU copy outputs");
            for (uint32_t i = 0; i < outputs.count(); ++i) {
                const Slot slot = outputs[i];
                std::memcpy(arguments[inputs.count() + i]->toTensor().mutable_data_ptr(),
                            scratch + slot.offset, slot.size);
            }
        }
        return et::Error::Ok;
    }

    void destroy(et::DelegateHandle* delegate) const override {
        static_cast<Handle*>(delegate)->~Handle();
    }
};

// ExecuTorch registers what is not const.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
EthosUBackend backend;
[[maybe_unused]] const et::Error registered = et::register_backend({"EthosUBackend", &backend});

}  // namespace
}  // namespace arm_runtime::ethosu
