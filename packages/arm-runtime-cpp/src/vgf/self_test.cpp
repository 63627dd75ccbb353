#include "self_test.hpp"

#include <cmath>
#include <cstring>
#include <set>
#include <tuple>

#include "self_test_graphs.hpp"
#include "vulkan_arm.hpp"

namespace arm_runtime::vgf {
namespace {

Program program_of(const TestGraph& test) {
    Program program;
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
    Segment segment{};
    segment.name = "self-test";
    segment.graph = true;
    program.segments.push_back(std::move(segment));
    return program;
}

/// Kernels for matrix units: where these fail, there is another.
bool is_for_matrices(const std::string& kernel) { return kernel.rfind("matrix_", 0) == 0; }

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

}  // namespace

bool computes(Device& device, const char* kernel, const char* tested_type,
              const DeviceTraits& traits) {
    const TestGraph test = test_graph(kernel, tested_type);
    const Program program = program_of(test);
    const auto engine = make_compute_engine(device, program, traits, &test.graph);
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
                  const std::string& wrong) {
    const DeviceTraits given = traits;
    std::set<std::tuple<std::string, bool, std::string>> kernels;
    for (const Dispatch* dispatch : engine.dispatches()) {
        if (dispatch->segment != kNoSegment) continue;  // a shader of the program's own
        // Without dot products in any case: a search may turn to it.
        kernels.insert({dispatch->kernel, false, dispatch->tested_type});
        if (dispatch->dot) kernels.insert({dispatch->kernel, true, ""});
        if (is_for_matrices(dispatch->kernel) && dispatch->variants.count > 1) {
            // One of the variants that a search tries.
            kernels.insert({"gemm", false, ""});
            if (given.dot) kernels.insert({"gemm", true, ""});
        }
    }
    bool all = true;
    KernelFacts& facts = device.facts();
    for (const auto& [kernel, has_dot, tested_type] : kernels) {
        const char* const name = kernel.c_str();
        const char* const type = tested_type.c_str();
        const std::string label = label_of(name, has_dot, type);
        if (facts.test(name, has_dot, type) == KernelFacts::Test::kUnknown) {
            DeviceTraits tested = given;
            tested.variant = nullptr;
            tested.dot = has_dot;
            if (!is_for_matrices(kernel)) tested.matrix = {};
            facts.set_test(name, has_dot, type,
                           label != wrong && computes(device, name, type, tested));
        }
        if (facts.test(name, has_dot, type) == KernelFacts::Test::kPassed) continue;
        facts.save();
        all = false;
        if (has_dot) {
            traits.dot = false;
        } else if (is_for_matrices(kernel)) {
            traits.matrix = {};
        } else {
            throw Error("the kernel '" + label + "' computes wrongly on " + device.name() +
                        ", driver " + device.driver() +
                        ": its self-test failed. Update the driver, or take another device "
                        "(ARM_VGF_DEVICE) or the engine `native` or `layer`");
        }
    }
    return all;
}

}  // namespace arm_runtime::vgf
