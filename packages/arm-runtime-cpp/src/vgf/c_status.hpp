// Errors of the C interfaces to VGF: also the VkResult of a call that failed.
#pragma once

#include "../c_interface.hpp"
#include "arm_runtime/vgf.hpp"

namespace arm_runtime::vgf {

/// Of this thread's last call that failed.
inline thread_local int32_t last_result = 0;  // NOLINT: what a C interface needs

/// As arm_runtime::c::succeeds and status_of.
template <typename Function>
bool vgf_succeeds(Function function) {
    return c::succeeds([&] {
        try {
            function();
        } catch (const Error& error) {
            last_result = error.vulkan_result();
            throw;
        } catch (const std::exception&) {
            last_result = 0;
            throw;
        }
    });
}

template <typename Function>
int vgf_status_of(Function function) {
    return vgf_succeeds(function) ? 0 : -1;
}

}  // namespace arm_runtime::vgf
