// Writes a fused program into the SPIR-V of a kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "kernel.hpp"
#include "program_builder.hpp"

namespace arm_runtime::vgf {

/// The kernel's module with a body of `run` that calls the program's steps one after the other, and
/// without the functions that it then does not call. A driver compiles what a program needs, and no
/// more: with all steps in the module and a switch over them, Mesa took seconds for each pipeline.
///
/// Throws Error: the kernel has no function of a step's name.
std::vector<uint32_t> write_program(const KernelCode& kernel, const ProgramBuilder& program);

}  // namespace arm_runtime::vgf
