#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "arm_runtime/vgf.hpp"
#include "arm_runtime/vgf_c.h"
#include "c_status.hpp"

namespace vgf = arm_runtime::vgf;

struct arm_vgf_session {
    explicit arm_vgf_session(vgf::Session&& loaded) : session(std::move(loaded)) {
        for (const auto* tensors : {&session.inputs(), &session.outputs()}) {
            for (const vgf::TensorInfo& tensor : *tensors) {
                std::vector<const char*>& texts = sizes.emplace_back();
                for (const std::string& size : tensor.sizes) texts.push_back(size.c_str());
            }
        }
    }

    vgf::Session session;
    std::vector<std::vector<const char*>> sizes;  ///< of inputs, then of outputs
    std::mutex mutex;                             ///< of what follows
    bool profiling = false;
    std::vector<vgf::Event> measured;
    std::vector<vgf::Statistic> statistics;
};

namespace {

using namespace arm_runtime::c;
using arm_runtime::vgf::vgf_status_of;
using arm_runtime::vgf::vgf_succeeds;

std::optional<vgf::DataType> type_named(const char* name) {
    for (int i = 0; i <= static_cast<int>(vgf::DataType::kUInt32); ++i) {
        const auto type = static_cast<vgf::DataType>(i);
        if (name != nullptr && std::strcmp(name, vgf::name_of(type)) == 0) return type;
    }
    return std::nullopt;
}

template <typename Element>
const Element& at(const std::vector<Element>& elements, size_t index, const char* what) {
    if (index >= elements.size()) {
        throw vgf::Error(what + (" " + std::to_string(index)) + " of " +
                         std::to_string(elements.size()));
    }
    return elements[index];
}

/// `tensors` are what the arguments are for, whose number may be another.
std::vector<vgf::Argument> convert(const arm_vgf_argument* arguments, size_t count,
                                   const std::vector<vgf::TensorInfo>& tensors, const char* kind) {
    std::vector<vgf::Argument> out;
    const std::vector<arm_vgf_argument> given = read_structs(arguments, count, kind);
    for (size_t i = 0; i < count; ++i) {
        const arm_vgf_argument& a = given[i];
        const auto type = type_named(a.type);
        if (!type) {
            const std::string wanted = i < tensors.size() ? " ('" + tensors[i].name + "') is " +
                                                                vgf::name_of(tensors[i].type)
                                                          : "";
            throw vgf::Error(kind + (" " + std::to_string(i)) + wanted + ", got " +
                             (a.type ? a.type : "no type"));
        }
        out.push_back({a.data, *type, a.shape, a.rank});
    }
    return out;
}

vgf::Options options_of(const arm_vgf_options* given) {
    vgf::Options options = vgf::options_from_environment();
    if (given != nullptr) {
        const arm_vgf_options wanted = read_struct(given);
        if (wanted.device != nullptr) options.device = wanted.device;
        if (wanted.engine != nullptr) options.engine = vgf::engine_named(wanted.engine);
        if (wanted.tune != nullptr) options.tuning = vgf::tuning_named(wanted.tune);
        if (wanted.sizes != nullptr) options.sizes = wanted.sizes;
        if (wanted.statistics != nullptr) {
            options.statistics = vgf::counting_named(wanted.statistics);
        }
    }
    return options;
}

/// The same text for the life of the process.
const char* kept_text(const std::string& text) {
    static std::mutex mutex;
    // Never destroyed: callers may read until the end.
    static auto& texts = *new std::set<std::string>;
    const std::lock_guard<std::mutex> lock(mutex);
    return texts.insert(text).first->c_str();
}

/// What a caller means by a session. Throws Error: nothing.
template <typename AnySession>
AnySession& checked(AnySession* session) {
    if (session == nullptr) throw vgf::Error("the session is NULL");
    return *session;
}

}  // namespace

uint32_t arm_vgf_api_version(void) { return ARM_VGF_API_VERSION; }

const char* arm_vgf_last_error(void) { return last_error.c_str(); }
int32_t arm_vgf_last_result(void) { return arm_runtime::vgf::last_result; }

int arm_vgf_find_device(const arm_vgf_options* given, arm_vgf_device* device) {
    return vgf_status_of([&] {
        const vgf::DeviceInfo found = vgf::find_device(options_of(given));
        write_struct(device, {0, kept_text(found.name), vgf::name_of(found.engine),
                              kept_text(found.engine_reason)});
    });
}

arm_vgf_session* arm_vgf_open(const void* data, size_t bytes, const arm_vgf_options* given) {
    std::unique_ptr<arm_vgf_session> opened;
    vgf_succeeds([&] {
        if (data == nullptr) throw vgf::Error("the VGF is NULL");
        opened = std::make_unique<arm_vgf_session>(vgf::Session(data, bytes, options_of(given)));
    });
    return opened.release();
}

// NOLINTNEXTLINE(misc-const-correctness): what is closed is not const to its users
void arm_vgf_close(arm_vgf_session* session) { delete session; }

int arm_vgf_get_info(const arm_vgf_session* session, arm_vgf_info* info) {
    return vgf_status_of([&] {
        const vgf::Session& s = checked(session).session;
        const vgf::MemoryUse& use = s.memory();
        write_struct(info,
                     {0, s.device().c_str(), vgf::name_of(s.engine()), s.engine_reason().c_str(),
                      s.inputs().size(), s.outputs().size(), use.inputs, use.outputs, use.work,
                      use.saved, use.constants, s.push_constants().size(), s.symbols().size()});
    });
}

int arm_vgf_get_tensor(const arm_vgf_session* session, int outputs, size_t index,
                       arm_vgf_tensor* tensor) {
    return vgf_status_of([&] {
        const vgf::Session& s = checked(session).session;
        const vgf::TensorInfo& found = at(outputs ? s.outputs() : s.inputs(), index, "tensor");
        write_struct(tensor, {0, found.name.c_str(), vgf::name_of(found.type), found.shape.data(),
                              found.shape.size(), found.bytes,
                              session->sizes[index + (outputs ? s.inputs().size() : 0)].data()});
    });
}

int arm_vgf_get_symbol(const arm_vgf_session* session, size_t index, arm_vgf_symbol* symbol) {
    return vgf_status_of([&] {
        const vgf::Symbol& found = at(checked(session).session.symbols(), index, "symbol");
        write_struct(symbol, {0, found.name.c_str(), found.least, found.most});
    });
}

int arm_vgf_get_output_shape(const arm_vgf_session* session, const arm_vgf_argument* inputs,
                             size_t input_count, size_t output, const int64_t** shape,
                             size_t* rank) {
    return vgf_status_of([&] {
        const vgf::Session& s = checked(session).session;
        const auto in = convert(inputs, input_count, s.inputs(), "input");
        at(s.outputs(), output, "tensor");
        if (shape == nullptr || rank == nullptr) throw vgf::Error("no place for the shape");
        const std::vector<int64_t>& found = s.output_shapes(in.data(), in.size())[output];
        *shape = found.data();
        *rank = found.size();
    });
}

int arm_vgf_get_push_constants(const arm_vgf_session* session, size_t index,
                               arm_vgf_push_constants* push_constants) {
    return vgf_status_of([&] {
        const vgf::PushConstantInfo& found =
            at(checked(session).session.push_constants(), index, "push constants");
        write_struct(push_constants, {0, found.segment.c_str(), found.offset, found.bytes});
    });
}

int arm_vgf_set_push_constants(arm_vgf_session* session, size_t index, const void* data,
                               size_t bytes) {
    return vgf_status_of([&] { checked(session).session.set_push_constants(index, data, bytes); });
}

int arm_vgf_run(arm_vgf_session* session, const arm_vgf_argument* inputs, size_t input_count,
                const arm_vgf_argument* outputs, size_t output_count) {
    return vgf_status_of([&] {
        checked(session).session.require_same_process();
        const auto in = convert(inputs, input_count, session->session.inputs(), "input");
        const auto out = convert(outputs, output_count, session->session.outputs(), "output");
        const std::lock_guard<std::mutex> lock(session->mutex);
        session->measured.clear();
        session->session.run(in.data(), in.size(), out.data(), out.size(),
                             session->profiling ? &session->measured : nullptr);
    });
}

size_t arm_vgf_profile(arm_vgf_session* session) {
    size_t count = 0;
    vgf_succeeds([&] {
        checked(session).session.require_same_process();
        const std::lock_guard<std::mutex> lock(session->mutex);
        session->profiling = true;
        count = session->measured.size();
    });
    return count;
}

int arm_vgf_get_event(arm_vgf_session* session, size_t index, arm_vgf_event* event) {
    return vgf_status_of([&] {
        checked(session).session.require_same_process();
        const std::lock_guard<std::mutex> lock(session->mutex);
        const vgf::Event& found = at(session->measured, index, "event");
        write_struct(event, {0, found.name, found.on_device ? 1 : 0, found.begin, found.end});
    });
}

size_t arm_vgf_statistics(arm_vgf_session* session) {
    size_t count = 0;
    vgf_succeeds([&] {
        std::vector<vgf::Statistic> found = checked(session).session.statistics();
        const std::lock_guard<std::mutex> lock(session->mutex);
        session->statistics = std::move(found);
        count = session->statistics.size();
    });
    return count;
}

int arm_vgf_get_statistic(arm_vgf_session* session, size_t index, arm_vgf_statistic* statistic) {
    return vgf_status_of([&] {
        const std::lock_guard<std::mutex> lock(checked(session).mutex);
        const vgf::Statistic& found = at(session->statistics, index, "statistic");
        write_struct(statistic, {0, found.segment.c_str(), found.kind.c_str(), found.bytes.data(),
                                 found.bytes.size()});
    });
}

const char* arm_vgf_plan(const arm_vgf_session* session) {
    const char* plan = nullptr;
    vgf_succeeds([&] { plan = checked(session).session.plan().c_str(); });
    return plan;
}
