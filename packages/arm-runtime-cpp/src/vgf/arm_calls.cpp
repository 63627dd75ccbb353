#include "arm_calls.hpp"

namespace arm_runtime::vgf {
namespace {

template <typename Function>
void find(Function& function, const char* name, const vk::raii::Device& device) {
    function = reinterpret_cast<Function>(device.getProcAddr(name));
    if (function == nullptr) {
        throw Error(std::string("the Vulkan driver has no ") + name + "; a newer driver may");
    }
}

}  // namespace

ArmCalls::ArmCalls(const vk::raii::Device& device) {
#define X(name) find(name, "vk" #name, device);
    ARM_VGF_ARM_CALLS(X)
#undef X
}

void check(VkResult result, const char* call) {
    if (result == VK_SUCCESS) return;
    throw vk::SystemError(make_error_code(static_cast<vk::Result>(result)), call);
}

}  // namespace arm_runtime::vgf
