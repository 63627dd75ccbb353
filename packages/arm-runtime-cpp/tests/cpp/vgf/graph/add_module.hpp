// The SPIR-V of a graph of one ADD, right or wrong in one thing.
#pragma once

#include <spirv/unified1/TOSA.001000.1.h>

#include "module_writer.hpp"

namespace arm_runtime::vgf::add_module {

// Ids of the module below.
constexpr uint32_t kSet = 1, kOne = 3, kType = 7, kGraphType = 9, kZero = 10, kGraph = 11;
constexpr uint32_t kInput = 12, kResult = 13, kIn = 20, kOut = 21, kFloats = 25, kStruct = 26;

/// A module that is wrong, or odd, in one thing: what is written instead of its parts.
struct Variant {
    Words declarations;
    Words entry =
        op(spv::OpGraphEntryPointARM, joined(joined({kGraph}, literal("main")), {kIn, kOut}));
    Words input = op(spv::OpGraphInputARM, {kType, kInput, kZero});
    Words body = op(spv::OpExtInst, {kType, kResult, kSet, TOSAADD, kInput, kInput});
    Words output = op(spv::OpGraphSetOutputARM, {kResult, kZero});
    Words end = op(spv::OpGraphEndARM);
};

/// y = x + x for i32[4].
inline Words code(const Variant& v = {}) {
    return module({op(spv::OpCapability, {4191}),
                   op(spv::OpExtInstImport, joined({kSet}, literal("TOSA.001000.1"))),
                   op(spv::OpName, joined({kIn}, literal("x"))),
                   op(spv::OpDecorate, {kIn, spv::DecorationDescriptorSet, 0}),
                   op(spv::OpDecorate, {kIn, spv::DecorationBinding, 0}),
                   op(spv::OpDecorate, {kOut, spv::DecorationDescriptorSet, 0}),
                   op(spv::OpDecorate, {kOut, spv::DecorationBinding, 1}),
                   op(spv::OpTypeInt, {2, 32, 0}),
                   op(spv::OpConstant, {2, kOne, 1}),
                   op(spv::OpConstant, {2, 4, 4}),
                   op(spv::OpTypeArray, {5, 2, kOne}),
                   op(spv::OpConstantComposite, {5, 6, 4}),
                   op(spv::OpTypeTensorARM, {kType, 2, kOne, 6}),
                   op(spv::OpTypePointer, {8, spv::StorageClassUniformConstant, kType}),
                   op(spv::OpVariable, {8, kIn, spv::StorageClassUniformConstant}),
                   op(spv::OpVariable, {8, kOut, spv::StorageClassUniformConstant}),
                   op(spv::OpTypeGraphARM, {kGraphType, 1, kType, kType}),
                   op(spv::OpConstant, {2, kZero, 0}),
                   op(spv::OpTypeFloat, {24, 32}),
                   op(spv::OpTypeTensorARM, {kFloats, 24, kOne, 6}),
                   op(spv::OpTypeStruct, {kStruct, kType, kType}),
                   v.declarations,
                   v.entry,
                   op(spv::OpGraphARM, {kGraphType, kGraph}),
                   v.input,
                   v.body,
                   v.output,
                   v.end});
}

}  // namespace arm_runtime::vgf::add_module
