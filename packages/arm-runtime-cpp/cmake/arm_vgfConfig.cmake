# find_package(arm_vgf): targets arm_vgf::arm_vgf, which is shared, and arm_vgf::arm_vgf_static. Both open Vulkan's loader
# when a device is needed, and link nothing but the system's libraries.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/arm_vgfTargets.cmake")
