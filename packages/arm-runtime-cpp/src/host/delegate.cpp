// ExecuTorch delegates whose payloads a function of the process runs. There is no header:
// python/arm_runtime/host.py is the one client.
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/platform/log.h>

#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

extern "C" {

/// A tensor of a call: its elements as they lie in memory.
struct arm_host_buffer {
    void* data;
    size_t bytes;
};

/// Runs a payload once; buffers: its inputs and, behind them, its outputs. 0, or another number: it
/// failed, and has said why.
using arm_host_run = int (*)(const uint8_t* payload, size_t bytes, const arm_host_buffer* buffers,
                             size_t count);

/// Registers a delegate; `run` is called until the process ends. 0, or -1: ExecuTorch has one of
/// that name, or has no room for another one.
__attribute__((visibility("default"))) int arm_host_delegate_register(const char* backend_id,
                                                                      arm_host_run run);
}

namespace arm_runtime::host {
namespace {

namespace et = executorch::runtime;
using executorch::aten::Tensor;

/// A payload, which ExecuTorch keeps as long as the handle.
struct Handle {
    const uint8_t* payload;
    size_t bytes;
};

class HostBackend final : public et::BackendInterface {
  public:
    HostBackend(const char* name, arm_host_run run) : name_(name), run_(run) {}

    [[nodiscard]] const char* name() const { return name_.c_str(); }

    [[nodiscard]] bool is_available() const override { return true; }

    et::Result<et::DelegateHandle*> init(et::BackendInitContext& context,
                                         et::FreeableBuffer* processed,
                                         et::ArrayRef<et::CompileSpec>) const override {
        void* memory = context.get_runtime_allocator()->allocate(sizeof(Handle), alignof(Handle));
        if (memory == nullptr) return et::Error::MemoryAllocationFailed;
        const et::Result<const void*> data = processed->data_safe();
        if (!data.ok()) return data.error();
        return new (memory) Handle{static_cast<const uint8_t*>(data.get()), processed->size()};
    }

    et::Error execute(et::BackendExecutionContext&, et::DelegateHandle* delegate,
                      et::Span<et::EValue*> arguments) const override {
        const auto* handle = static_cast<const Handle*>(delegate);
        std::vector<arm_host_buffer> buffers;
        buffers.reserve(arguments.size());
        for (et::EValue* argument : arguments) {
            if (!argument->isTensor()) {
                ET_LOG(Error, "%s: an argument is not a tensor", name());
                return et::Error::InvalidArgument;
            }
            const Tensor tensor = argument->toTensor();
            buffers.push_back({tensor.mutable_data_ptr(), tensor.nbytes()});
        }
        const int status = run_(handle->payload, handle->bytes, buffers.data(), buffers.size());
        return status == 0 ? et::Error::Ok : et::Error::Internal;
    }

  private:
    std::string name_;
    arm_host_run run_;
};

}  // namespace
}  // namespace arm_runtime::host

int arm_host_delegate_register(const char* backend_id, arm_host_run run) {
    try {
        auto made = std::make_unique<arm_runtime::host::HostBackend>(backend_id, run);
        if (executorch::runtime::register_backend({made->name(), made.get()}) !=
            executorch::runtime::Error::Ok)
            return -1;
        // Never freed: ExecuTorch keeps pointers to it.
        (void)made.release();  // NOLINT(bugprone-unused-return-value)
        return 0;
    } catch (const std::exception&) {
        return -1;
    }
}
