// vgf_kernels FILE...: the kernels that the plans of VGFs need, one a line. CMake builds and runs
// it on the machine that builds the library; see ArmVgfKernels.cmake.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "../graph/graph.hpp"
#include "../kernels/steps.h"
#include "../plan/plan.hpp"

namespace arm_runtime::vgf {
namespace {

/// Threads of workgroups that are planned for. Of a device's other traits, only matrix units and
/// the many threads of a GPU have kernels of their own, without which a library does.
constexpr int64_t kMaxThreads[] = {128, 1024};

std::vector<char> content(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw Error("it cannot be read");
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// A place for every resource, as far as plans depend on it: what shares memory is at one place.
ResourceSlots places_of(const Program& program) {
    ResourceSlots slots;
    for (const Resource& resource : program.resources) {
        const uint32_t buffer = resource.home == Role::kInput    ? BUFFER_INPUTS
                                : resource.home == Role::kOutput ? BUFFER_OUTPUTS
                                                                 : BUFFER_WORK;
        slots.push_back({buffer, uint64_t{resource.storage} << 40, resource.bytes});
    }
    return slots;
}

void add_kernels(const std::string& file, std::set<std::string>& kernels) {
    const std::vector<char> data = content(file);
    const ParsedFile vgf = read_file(data.data(), data.size());
    for (size_t i = 0; i < vgf.program.segments.size(); ++i) {
        if (!vgf.program.segments[i].graph()) continue;
        for (const int64_t max_threads : kMaxThreads) {
            DeviceTraits device;
            device.max_threads = max_threads;
            device.threads = 1;
            Plan plan;
            Graph graph = read_graph(vgf, i);
            make_plan(graph, places_of(vgf.program), device, 0, plan);
            for (const Dispatch& dispatch : plan.dispatches) kernels.insert(dispatch.kernel);
        }
    }
}

}  // namespace
}  // namespace arm_runtime::vgf

int main(int count, char** given) {
    const std::vector<std::string> files(given + 1, given + count);
    std::set<std::string> kernels;
    for (const std::string& file : files) {
        try {
            arm_runtime::vgf::add_kernels(file, kernels);
        } catch (const std::exception& error) {
            std::fprintf(stderr, "%s: %s\n", file.c_str(), error.what());
            return 1;
        }
    }
    for (const std::string& kernel : kernels) std::printf("%s\n", kernel.c_str());
    return 0;
}
