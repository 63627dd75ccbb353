// The C interface: adds threads and memory to the model, which has neither.
#include <memory>
#include <new>

#include "../../c_interface.hpp"
#include "../host_threads.hpp"
#include "arm_runtime/ethosu_model.hpp"
#include "arm_runtime/ethosu_model_c.h"
#include "weight_decoder.hpp"

namespace {

using namespace arm_runtime;
using namespace arm_runtime::c;
using ethosu::kMostThreads;

constexpr size_t kMostRegions = std::size(EthosUMemory{}.regions);

EthosUFamily family_of(uint32_t number) {
    if (number == 55) return EthosUFamily::kU55;
    if (number == 65) return EthosUFamily::kU65;
    if (number == 85) return EthosUFamily::kU85;
    throw std::invalid_argument("there is no Ethos-U" + std::to_string(number) +
                                ": the family is 55, 65 or 85");
}

void run(const arm_ethosu_program& given, const std::vector<arm_ethosu_region>& regions,
         EthosUFault& fault) {
    if (regions.size() > kMostRegions) {
        throw std::invalid_argument(std::to_string(regions.size()) + " regions, of 8 at most");
    }
    const uint32_t workers = std::clamp(given.threads, 1U, kMostThreads);
    const EthosUProgram program{family_of(given.family), given.macs, given.command_stream,
                                given.bytes};
    EthosUMemory memory;
    if (!ethosu_model_plan(program, workers, memory.workspace_size, fault)) return;
    if (memory.workspace_size > given.workspace_limit) {
        throw std::runtime_error("the model takes " + std::to_string(memory.workspace_size) +
                                 " bytes of workspace, and " +
                                 std::to_string(given.workspace_limit) + " are allowed");
    }
    const std::unique_ptr<uint8_t[]> workspace(new uint8_t[memory.workspace_size]);
    memory.workspace = workspace.get();
    for (size_t i = 0; i < regions.size(); ++i) {
        const arm_ethosu_region& r = regions[i];
        memory.regions[i] = {r.data, r.bytes, r.read_only != 0, r.written};
    }
    ethosu_model_run(program, memory, {workers, ethosu::run_threads, nullptr}, fault);
}

}  // namespace

uint32_t arm_ethosu_model_api_version(void) { return ARM_ETHOSU_MODEL_API_VERSION; }

const char* arm_ethosu_model_last_error(void) { return last_error.c_str(); }

int arm_ethosu_model_run(const arm_ethosu_program* program, const arm_ethosu_region* regions,
                         size_t region_count, int32_t* fault) {
    if (fault != nullptr) *fault = 0;
    return status_of([&] {
        EthosUFault found;
        run(read_struct(program), read_structs(regions, region_count, "region"), found);
        if (fault != nullptr) *fault = static_cast<int32_t>(found.code);
        if (found.code != EthosUFaultCode::kNone) throw std::runtime_error(found.text);
    });
}

int arm_ethosu_model_decode_weights(const uint8_t* stream, size_t bytes, int16_t* weights,
                                    size_t capacity, size_t* count) {
    return status_of([&] {
        const auto decoded = ethosu::decode_weights(stream, bytes, weights, capacity);
        if (decoded.problem != nullptr) throw std::runtime_error(decoded.problem);
        if (count != nullptr) *count = decoded.count;
    });
}
