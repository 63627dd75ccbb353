// VGFs of one segment, written with the VGF library's encoder.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <sstream>
#include <string>
#include <vgf/encoder.hpp>

#include "graph/add_module.hpp"
#include "vgf/vulkan_arm.hpp"

namespace arm_runtime::vgf {

/// y = x + x for i32[4]: input "x" at binding 0, output "y" at binding 1. The members are what a
/// test may make wrong.
struct SmallVgf {
    mlsdk::vgflib::ModuleType type = mlsdk::vgflib::ModuleType::GRAPH;
    Words words = add_module::code();
    std::string entry_point = "main";
    std::vector<int64_t> shape{4};
    uint32_t output_resource = 1;
    std::array<uint32_t, 3> groups{};
    bool constant_twice = false;

    std::string bytes() const {
        using namespace mlsdk::vgflib;
        const auto encoder = CreateEncoder(VK_HEADER_VERSION);
        const auto input =
            encoder->AddInputResource(kDescriptorTensor, VK_FORMAT_R32_SINT, shape, {});
        encoder->AddOutputResource(kDescriptorTensor, VK_FORMAT_R32_SINT, shape, {});
        const auto constant = encoder->AddConstantResource(VK_FORMAT_R8_UINT, {3}, {});
        const auto data = encoder->AddConstant(constant, "\1\2\3", 3);
        const auto module = encoder->AddModule(type, "module", entry_point, words);
        const auto x = encoder->AddBindingSlot(0, input);
        const auto y = encoder->AddBindingSlot(1, {{output_resource}});
        const auto set = encoder->AddDescriptorSetInfo({x, y}, 0);
        std::vector<GraphConstantBindingRef> constants;
        if (type == ModuleType::GRAPH) constants.emplace_back(7, data);
        if (constant_twice) constants.emplace_back(7, data);
        encoder->AddSegmentInfo(module, "add", {set}, {x}, {y}, constants, groups);
        encoder->AddModelSequenceInputsOutputs({x}, {"x"}, {y}, {"y"});
        encoder->Finish();
        std::ostringstream out;
        encoder->WriteTo(out);
        return out.str();
    }
};

/// The SPIR-V of a compute shader that does nothing.
inline Words empty_shader() {
    const uint32_t none = 1, type = 2, main = 3, label = 4;
    return module(
        {op(spv::OpCapability, {spv::CapabilityShader}),
         op(spv::OpMemoryModel, {spv::AddressingModelLogical, spv::MemoryModelGLSL450}),
         op(spv::OpEntryPoint, joined({spv::ExecutionModelGLCompute, main}, literal("main"))),
         op(spv::OpExecutionMode, {main, spv::ExecutionModeLocalSize, 1, 1, 1}),
         op(spv::OpTypeVoid, {none}), op(spv::OpTypeFunction, {type, none}),
         op(spv::OpFunction, {none, main, 0, type}), op(spv::OpLabel, {label}), op(spv::OpReturn),
         op(spv::OpFunctionEnd)});
}

}  // namespace arm_runtime::vgf
