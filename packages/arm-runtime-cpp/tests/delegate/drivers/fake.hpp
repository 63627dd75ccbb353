// What the fakes share.
#pragma once

#include <cstdint>
#include <string>

#include "payload.hpp"

namespace fake {

/// The accelerator that the fakes are: Ethos-U55 with 128 MACs.
constexpr uint32_t kConfig = 0x00001807;

/// Whether the test asked for this failure (environment variable FAKE_FAILS).
bool fails(const char* what);

/// Notes a call; the test prints how many there were of each name.
void count(const std::string& call);
void print_counts();

/// Ends the process with status 3 unless `condition`: the driver broke the rules of what is faked.
void require(bool condition, const char* rule);

/// Runs a command stream as the NPU would, on the functional model.
void run(arm_runtime::ethosu::Bytes stream, arm_runtime::ethosu::Bytes weights, uint8_t* scratch,
         size_t scratch_size);

}  // namespace fake
