#include "self_test.hpp"

#include <cmath>
#include <cstring>
#include <set>
#include <tuple>

#include "self_test_graphs.hpp"
#include "vulkan_arm.hpp"

namespace arm_runtime::vgf {
namespace {

/// Without code: the graph is there.
ParsedFile file_of(const TestGraph& test) {
    ParsedFile file;
    Program& program = file.program;
    const auto add = [&](const GraphPort& port, Role role, const Bytes& data,
                         std::vector<Port>& ports) {
        Resource resource{};
        resource.role = role;
        resource.descriptor = kDescriptorTensor;
        resource.shape = test.graph.tensors[port.tensor].shape;
        resource.bytes = data.size();
        resource.storage = port.resource;
        resource.home = role;
        program.resources.push_back(std::move(resource));
        ports.push_back({"", port.resource, DataType::kInt32});
    };
    for (size_t i = 0; i < test.inputs.size(); ++i) {
        add(test.graph.inputs[i], Role::kInput, test.inputs[i], program.inputs);
    }
    for (size_t i = 0; i < test.outputs.size(); ++i) {
        add(test.graph.outputs[i], Role::kOutput, test.outputs[i], program.outputs);
    }
    program.segments.push_back({"self-test", {}, GraphSegment{}});
    return file;
}

bool is_right(const uint8_t* got, const Bytes& wanted, ElementType type) {
    if (type != ElementType::kFloat32) return std::memcmp(got, wanted.data(), wanted.size()) == 0;
    for (size_t at = 0; at < wanted.size(); at += sizeof(float)) {
        float a = 0;
        float b = 0;
        std::memcpy(&a, got + at, sizeof(a));
        std::memcpy(&b, &wanted[at], sizeof(b));
        if (!(std::abs(a - b) <= 1e-3F)) return false;
    }
    return true;
}

/// Code that a test judges.
struct Tested {
    std::string kernel;
    bool dot;
    std::string type;

    bool operator<(const Tested& other) const {
        return std::tie(kernel, dot, type) < std::tie(other.kernel, other.dot, other.type);
    }
};

/// What the engine runs, and what a search may turn to, as far as it is not known to be wrong.
std::set<Tested> kernels_of(const Engine& engine, const DeviceTraits& traits) {
    std::set<Tested> kernels;
    for (const Dispatch* dispatch : engine.dispatches()) {
        if (dispatch->segment != kNoSegment) continue;  // a shader of the program's own
        // Without dot products in any case.
        kernels.insert({dispatch->kernel, false, dispatch->tested_type});
        if (dispatch->dot) kernels.insert({dispatch->kernel, true, ""});
        for (const char* const other : dispatch->variants.others) {
            for (const bool dot : {false, true}) {
                const bool there = *other != '\0' && (traits.dot || !dot) &&
                                   find_optional_kernel(other, dot) != nullptr;
                if (there && traits.wrong.count(label_of(other, dot, "")) == 0) {
                    kernels.insert({other, dot, ""});
                }
            }
        }
    }
    return kernels;
}

}  // namespace

bool computes(Device& device, const char* kernel, const char* tested_type,
              const DeviceTraits& traits) {
    const TestGraph test = test_graph(kernel, tested_type);
    const auto graph = [&](size_t) -> const Graph& { return test.graph; };
    const auto engine = make_compute_engine(device, file_of(test), traits, {1, graph});
    for (size_t i = 0; i < test.inputs.size(); ++i) {
        std::memcpy(engine->input(i), test.inputs[i].data(), test.inputs[i].size());
    }
    engine->run(nullptr);
    bool right = true;
    for (size_t i = 0; i < test.outputs.size(); ++i) {
        const ElementType type = test.graph.tensors[test.graph.outputs[i].tensor].type;
        right = right && is_right(engine->output(i), test.outputs[i], type);
    }
    return right;
}

bool test_kernels(Device& device, DeviceTraits& traits, const Engine& engine,
                  const std::string& wrong, bool unknown) {
    KernelFacts& facts = device.facts();
    bool all = true;
    for (const Tested& tested : kernels_of(engine, traits)) {
        const char* const kernel = tested.kernel.c_str();
        const char* const type = tested.type.c_str();
        const std::string label = label_of(kernel, tested.dot, type);
        if (facts.test(kernel, tested.dot, type) == KernelFacts::Test::kUnknown) {
            if (!unknown) continue;
            DeviceTraits plain = traits;
            plain.variant = nullptr;
            plain.wrong.clear();
            plain.dot = tested.dot;
            facts.set_test(kernel, tested.dot, type,
                           label != wrong && computes(device, kernel, type, plain));
        }
        if (facts.test(kernel, tested.dot, type) == KernelFacts::Test::kPassed) continue;
        facts.save();
        all = false;
        if (traits.wrong.insert(label).second) continue;
        throw Error("the kernel '" + label + "' computes wrongly on " + device.name() +
                    ", driver " + device.driver() +
                    ": its self-test failed, and there is no other for this program. Update the "
                    "driver, or take another device (ARM_VGF_DEVICE) or the engine `native` or "
                    "`layer`");
    }
    return all;
}

}  // namespace arm_runtime::vgf
