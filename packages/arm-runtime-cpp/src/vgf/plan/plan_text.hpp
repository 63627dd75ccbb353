// A plan for people and scripts.
#pragma once

#include <string>

#include "plan.hpp"

namespace arm_runtime::vgf {

/// A JSON list of the plan's dispatches; see Session::plan.
std::string json_of(const Plan& plan);

}  // namespace arm_runtime::vgf
