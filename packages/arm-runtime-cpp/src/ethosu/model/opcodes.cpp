#include "opcodes.hpp"

namespace arm_runtime::ethosu {
namespace {

#define ARM_ETHOSU_OPERATION_NAME(name, number) \
    case number:                                \
        return "NPU_OP_" #name;
#define ARM_ETHOSU_REGISTER_NAME(name, number) \
    case number:                               \
        return "NPU_SET_" #name;

const char* short_name_u55(uint32_t code) {
    switch (code) {
        ARM_ETHOSU_SHORT_REGISTERS_U55(ARM_ETHOSU_REGISTER_NAME)
        default:
            return nullptr;
    }
}

const char* short_name_u85(uint32_t code) {
    switch (code) {
        ARM_ETHOSU_OPERATIONS_U85(ARM_ETHOSU_OPERATION_NAME)
        ARM_ETHOSU_SHORT_REGISTERS_U85(ARM_ETHOSU_REGISTER_NAME)
        default:
            return nullptr;
    }
}

const char* long_name_u55(uint32_t code) {
    switch (code) {
        ARM_ETHOSU_LONG_REGISTERS_U55(ARM_ETHOSU_REGISTER_NAME)
        default:
            return nullptr;
    }
}

const char* long_name_u85(uint32_t code) {
    switch (code) {
        ARM_ETHOSU_LONG_OPERATIONS_U85(ARM_ETHOSU_OPERATION_NAME)
        ARM_ETHOSU_LONG_REGISTERS_U85(ARM_ETHOSU_REGISTER_NAME)
        default:
            return nullptr;
    }
}

}  // namespace

const char* short_command_name(bool u85, uint32_t code) {
    switch (code) {
        ARM_ETHOSU_OPERATIONS(ARM_ETHOSU_OPERATION_NAME)
        ARM_ETHOSU_SHORT_REGISTERS(ARM_ETHOSU_REGISTER_NAME)
        default:
            return u85 ? short_name_u85(code) : short_name_u55(code);
    }
}

const char* long_command_name(bool u85, uint32_t code) {
    switch (code) {
        ARM_ETHOSU_LONG_REGISTERS(ARM_ETHOSU_REGISTER_NAME)
        default:
            return u85 ? long_name_u85(code) : long_name_u55(code);
    }
}

}  // namespace arm_runtime::ethosu
