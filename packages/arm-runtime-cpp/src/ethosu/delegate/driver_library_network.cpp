#include "driver_library_network.hpp"

#include <uapi/ethosu.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ethosu.hpp>
#include <exception>
#include <memory>
#include <new>
#include <vector>

namespace arm_runtime::ethosu {
namespace {

constexpr int64_t kTimeout = 60'000'000'000;  // ns; after that the NPU is taken to hang
/// The driver asks for buffers behind regions 3 and 4, which only streams with separate regions for
/// inputs and outputs use.
constexpr size_t kUnused = 16;

using SharedBuffer = std::shared_ptr<EthosU::Buffer>;

/// Where the last of the inputs or outputs ends in the scratch memory, in bytes.
size_t end_of(const Slots& slots) {
    size_t end = 0;
    for (uint32_t i = 0; i < slots.count(); ++i)
        if (const Slot slot = slots[i]; slot.placed) end = std::max(end, slot.offset + slot.size);
    return end;
}

class LibraryNetwork final : public Network {
  public:
    explicit LibraryNetwork(const Payload& payload)
        : scratch_size_(payload.scratch_size),
          inputs_end_(end_of(payload.inputs)),
          outputs_end_(end_of(payload.outputs)) {}

    bool load(const char* path, const Payload& payload, Report report) {
        const char* what = path;
        try {
            device_ = std::make_unique<EthosU::Device>(path);
            what =
                "the driver refused the command stream (it takes those of Vela's --cop-format "
                "COP2, for the NPU that it has)";
            network_ = std::make_shared<EthosU::Network>(*device_, payload.commands.data,
                                                         payload.commands.size);
            what = "the driver has no memory for weights and scratch";
            weights_ = buffer(payload.weights.size);
            scratch_ = buffer(payload.scratch_size);
            unused_inputs_ = buffer(kUnused);
            unused_outputs_ = buffer(kUnused);
            // The library does not write to what it is given.
            if (payload.weights.size > 0)
                weights_->write(
                    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
                    const_cast<char*>(reinterpret_cast<const char*>(payload.weights.data)),
                    payload.weights.size);
            return true;
        } catch (const std::exception& error) {
            return fail(report, what, error.what());
        }
    }

    size_t temporary_size() const override { return scratch_size_; }

    uint8_t* scratch(uint8_t* temporary, Report report) override {
        if (lost_) report(kLost);
        return lost_ ? nullptr : temporary;
    }

    bool run(uint8_t* temporary, Report report) override {
        auto* memory = reinterpret_cast<char*>(temporary);
        try {
            if (inputs_end_ > 0) scratch_->write(memory, inputs_end_);
            const std::vector<SharedBuffer> inputs{unused_inputs_}, outputs{unused_outputs_};
            const std::array<uint32_t, ETHOSU_PMU_EVENT_MAX> events{};
            const EthosU::Inference inference(network_, inputs.begin(), inputs.end(),
                                              outputs.begin(), outputs.end(), scratch_, weights_,
                                              events, false);
            lost_ = true;
            if (inference.wait(kTimeout))
                return fail(report, "waiting for the NPU failed", "no answer in 60 s");
            lost_ = false;
            if (inference.status() != EthosU::InferenceStatus::OK)
                return fail(report, "the inference failed", "see the kernel's log");
            if (outputs_end_ > 0) scratch_->read(memory, outputs_end_);
            return true;
        } catch (const std::exception& error) {
            return fail(report, "the driver refused the inference", error.what());
        }
    }

  private:
    static bool fail(Report report, const char* what, const char* why) {
        char text[512];
        std::snprintf(text, sizeof text, "%s: %s", what, why);
        report(text);
        return false;
    }

    SharedBuffer buffer(size_t size) {
        return size > 0 ? device_->createBuffers({size}).front()
                        : std::make_shared<EthosU::Buffer>();
    }

    size_t scratch_size_, inputs_end_, outputs_end_;
    std::unique_ptr<EthosU::Device> device_;  // before its buffers, so that it is closed after them
    std::shared_ptr<EthosU::Network> network_;
    SharedBuffer weights_, scratch_, unused_inputs_, unused_outputs_;
    bool lost_ = false;  ///< whether an inference may be in flight still
};

}  // namespace

Network* open_on_driver_library(const char* device, const Payload& payload,
                                const Allocator& allocator, Report report) {
    void* memory =
        allocator.take(allocator.context, sizeof(LibraryNetwork), alignof(LibraryNetwork));
    if (memory == nullptr) {
        report("no memory for the Linux driver's state");
        return nullptr;
    }
    auto* network = new (memory) LibraryNetwork(payload);
    if (network->load(device, payload, report)) return network;
    network->~LibraryNetwork();
    return nullptr;
}

}  // namespace arm_runtime::ethosu
