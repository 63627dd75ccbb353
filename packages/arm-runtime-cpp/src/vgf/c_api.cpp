#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "arm_runtime/vgf.hpp"
#include "arm_runtime/vgf_c.h"

namespace vgf = arm_runtime::vgf;

struct arm_vgf_session {
    explicit arm_vgf_session(vgf::Session&& loaded) : session(std::move(loaded)) {}

    vgf::Session session;
    std::vector<arm_vgf_tensor> inputs;
    std::vector<arm_vgf_tensor> outputs;
    std::mutex mutex;  ///< of what follows
    bool profiling = false;
    std::vector<vgf::Event> measured;
    std::vector<arm_vgf_event> events;
};

namespace {

thread_local std::string last_error;  // NOLINT: what a C interface needs

std::optional<vgf::DataType> type_named(const char* name) {
    for (int i = 0; i <= static_cast<int>(vgf::DataType::kFloat32); ++i) {
        const auto type = static_cast<vgf::DataType>(i);
        if (name != nullptr && std::strcmp(name, vgf::name_of(type)) == 0) return type;
    }
    return std::nullopt;
}

/// `tensors` are what the arguments are for, whose number may be another.
std::vector<vgf::Argument> convert(const arm_vgf_argument* arguments, size_t count,
                                   const std::vector<arm_vgf_tensor>& tensors, const char* kind) {
    std::vector<vgf::Argument> out;
    for (size_t i = 0; i < count; ++i) {
        const arm_vgf_argument& a = arguments[i];
        const auto type = type_named(a.type);
        if (!type) {
            const std::string wanted = i < tensors.size() ? " ('" + std::string(tensors[i].name) +
                                                                "') is " + tensors[i].type
                                                          : "";
            throw vgf::Error(kind + (" " + std::to_string(i)) + wanted + ", got " +
                             (a.type ? a.type : "no type"));
        }
        out.push_back({a.data, *type, a.shape, a.rank});
    }
    return out;
}

std::vector<arm_vgf_tensor> describe(const std::vector<vgf::TensorInfo>& infos) {
    std::vector<arm_vgf_tensor> out;
    out.reserve(infos.size());
    for (const vgf::TensorInfo& info : infos) {
        out.push_back({info.name.c_str(), vgf::name_of(info.type), info.shape.data(),
                       info.shape.size(), info.bytes});
    }
    return out;
}

/// Calls `function`; what it throws becomes the last error.
template <typename Function>
bool guarded(Function function) {
    try {
        function();
        return true;
    } catch (const std::exception& error) {
        last_error = error.what();
        return false;
    }
}

}  // namespace

const char* arm_vgf_last_error(void) { return last_error.c_str(); }

arm_vgf_session* arm_vgf_open(const void* data, size_t size, const char* device) {
    std::unique_ptr<arm_vgf_session> opened;
    guarded([&] {
        vgf::Options options = vgf::options_from_environment();
        if (device != nullptr) options.device = device;
        auto session = std::make_unique<arm_vgf_session>(vgf::Session(data, size, options));
        session->inputs = describe(session->session.inputs());
        session->outputs = describe(session->session.outputs());
        opened = std::move(session);
    });
    return opened.release();
}

// NOLINTNEXTLINE(misc-const-correctness): what is closed is not const to its users
void arm_vgf_close(arm_vgf_session* session) { delete session; }

const char* arm_vgf_device(const arm_vgf_session* session) {
    return session->session.device().c_str();
}

void arm_vgf_memory(const arm_vgf_session* session, uint64_t bytes[4]) {
    const vgf::MemoryUse& use = session->session.memory();
    bytes[0] = use.inputs;
    bytes[1] = use.outputs;
    bytes[2] = use.work;
    bytes[3] = use.saved;
}

size_t arm_vgf_tensors(const arm_vgf_session* session, int outputs,
                       const arm_vgf_tensor** tensors) {
    const auto& found = outputs ? session->outputs : session->inputs;
    *tensors = found.data();
    return found.size();
}

int arm_vgf_run(arm_vgf_session* session, const arm_vgf_argument* inputs, size_t input_count,
                const arm_vgf_argument* outputs, size_t output_count) {
    return guarded([&] {
        const auto in = convert(inputs, input_count, session->inputs, "input");
        const auto out = convert(outputs, output_count, session->outputs, "output");
        const std::lock_guard<std::mutex> lock(session->mutex);
        session->measured.clear();
        session->session.run(in.data(), in.size(), out.data(), out.size(),
                             session->profiling ? &session->measured : nullptr);
    })
               ? 0
               : -1;
}

size_t arm_vgf_profile(arm_vgf_session* session, const arm_vgf_event** events) {
    const std::lock_guard<std::mutex> lock(session->mutex);
    session->profiling = true;
    session->events.clear();
    for (const vgf::Event& event : session->measured) {
        session->events.push_back({event.name, event.on_device ? 1 : 0, event.begin, event.end});
    }
    *events = session->events.data();
    return session->events.size();
}
