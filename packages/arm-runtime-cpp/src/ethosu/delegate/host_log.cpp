// What hosts log: see executorch_log.hpp.
#include "../../executorch_log.hpp"
#include "network.hpp"

namespace arm_runtime::ethosu {

void prepare_log() { log_past_python(); }

}  // namespace arm_runtime::ethosu
