// A fake of the user library of Arm's Linux driver stack, and of the kernel driver behind it.
#include <cstring>
#include <stdexcept>

#include "driver_stack/ethosu.hpp"
#include "fake.hpp"

namespace {

using arm_runtime::ethosu::Container;

constexpr const char* kPath = "/dev/ethosu0";
int alive = 0;  ///< objects that refer to the device

void call(const char* name) {
    fake::count(name);
    if (fake::fails(name)) throw std::runtime_error(std::string(name) + " refused");
}

void closed() {
    if (--alive == 0) fake::count("all closed");
}

}  // namespace

namespace EthosU {

Device::Device(const char* path) {
    fake::require(std::strcmp(path, kPath) == 0, "the device is the one that was named");
    call("open");
    ++alive;
}
Device::~Device() {
    fake::require(alive == 1, "the device is closed last");
    closed();
}

std::vector<std::shared_ptr<Buffer>> Device::createBuffers(const std::vector<size_t>& sizes) {
    std::vector<std::shared_ptr<Buffer>> buffers;
    for (const size_t size : sizes) {
        call("buffer");
        fake::require(size > 0, "a buffer has a size");
        buffers.push_back(std::make_shared<Buffer>());
        buffers.back()->memory.resize(size);
        ++alive;
    }
    return buffers;
}

Buffer::~Buffer() {
    if (!memory.empty()) closed();
}

void Buffer::write(char* source, size_t size) {
    fake::count("write");
    fake::require(size <= memory.size(), "what is written fits the buffer");
    std::memcpy(memory.data(), source, size);
}

void Buffer::read(char* target, size_t size) {
    fake::count("read");
    fake::require(size <= memory.size(), "what is read is in the buffer");
    std::memcpy(target, memory.data(), size);
}

Network::Network(const Device&, const unsigned char* data, size_t size)
    : commands(data, data + size) {
    call("network");
    if (size < 4 || std::memcmp(data, "COP2", 4) != 0) throw std::runtime_error("not COP2");
    ++alive;
}
Network::~Network() { closed(); }

void Inference::run(const Network& network, const Buffers& inputs, const Buffers& outputs,
                    Buffer& intermediate, const Buffer& constant, bool count_cycles) {
    call("inference");
    fake::require(inputs.size() == 1 && outputs.size() == 1 && !inputs[0]->memory.empty() &&
                      !outputs[0]->memory.empty(),
                  "the driver takes the first input and output buffer");
    fake::require(!count_cycles, "cycles are not asked for");
    Container container;
    const char* problem = arm_runtime::ethosu::read_container(network.commands.data(),
                                                              network.commands.size(), container);
    fake::require(problem == nullptr, "a network is a driver payload");
    fake::run({container.stream.bytes(), 4 * container.stream.size()},
              {constant.memory.data(), constant.memory.size()}, intermediate.memory.data(),
              intermediate.memory.size());
}

bool Inference::wait(int64_t timeout_ns) const {
    fake::count("wait");
    fake::require(timeout_ns > 0, "waiting ends");
    return fake::fails("wait");
}

InferenceStatus Inference::status() const {
    fake::count("status");
    return fake::fails("status") ? InferenceStatus::ERROR : InferenceStatus::OK;
}

}  // namespace EthosU
