#include "opcodes.hpp"

namespace arm_runtime::ethosu {

#define ARM_ETHOSU_OPERATION_NAME(name, number) \
    case number:                                \
        return "NPU_OP_" #name;
#define ARM_ETHOSU_REGISTER_NAME(name, number) \
    case number:                               \
        return "NPU_SET_" #name;

const char* short_command_name(uint32_t code) {
    switch (code) {
        ARM_ETHOSU_OPERATIONS(ARM_ETHOSU_OPERATION_NAME)
        ARM_ETHOSU_SHORT_REGISTERS(ARM_ETHOSU_REGISTER_NAME)
        default:
            return nullptr;
    }
}

const char* long_command_name(uint32_t code) {
    switch (code) {
        ARM_ETHOSU_LONG_REGISTERS(ARM_ETHOSU_REGISTER_NAME)
        default:
            return nullptr;
    }
}

}  // namespace arm_runtime::ethosu
