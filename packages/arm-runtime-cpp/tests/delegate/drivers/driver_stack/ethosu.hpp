// The user library of Arm's Linux driver stack (/dev/ethosuN), as far as the delegate uses it:
// names and arguments are those of the library, what they do is in fake_driver_library.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "uapi/ethosu.h"

namespace EthosU {

class Buffer {
  public:
    Buffer() = default;
    ~Buffer();
    void write(char* source, size_t size);
    void read(char* target, size_t size);

    std::vector<uint8_t> memory;
};

class Device {
  public:
    explicit Device(const char* path);
    ~Device();
    std::vector<std::shared_ptr<Buffer>> createBuffers(const std::vector<size_t>& sizes);
};

class Network {
  public:
    Network(const Device& device, const unsigned char* data, size_t size);
    ~Network();

    std::vector<uint8_t> commands;
};

enum class InferenceStatus { OK, ERROR, RUNNING, REJECTED, ABORTED, ABORTING, PENDING };

class Inference {
  public:
    using Buffers = std::vector<std::shared_ptr<Buffer>>;
    using Events = std::array<uint32_t, ETHOSU_PMU_EVENT_MAX>;

    template <typename Iterator>
    Inference(const std::shared_ptr<Network>& network, Iterator ifm, Iterator ifm_end, Iterator ofm,
              Iterator ofm_end, const std::shared_ptr<Buffer>& intermediate,
              const std::shared_ptr<Buffer>& constant, const Events&, bool count_cycles) {
        run(*network, Buffers(ifm, ifm_end), Buffers(ofm, ofm_end), *intermediate, *constant,
            count_cycles);
    }
    bool wait(int64_t timeout_ns) const;
    InferenceStatus status() const;

  private:
    static void run(const Network& network, const Buffers& inputs, const Buffers& outputs,
                    Buffer& intermediate, const Buffer& constant, bool count_cycles);
};

}  // namespace EthosU
