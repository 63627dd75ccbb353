#include "linux_network.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <new>

#include "linux_accel.hpp"

namespace arm_runtime::ethosu {
namespace {

constexpr int64_t kTimeout = 60'000'000'000;  // ns; after that the NPU is taken to hang

/// Says what failed and why the system says it did.
void report_errno(Report report, const char* what) {
    const int number = errno;
    char text[256];
    std::snprintf(text, sizeof text, "%s: %s", what, std::strerror(number));
    report(text);
}

int64_t now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// A file descriptor.
class Device {
  public:
    explicit Device(const char* path) : descriptor_(open(path, O_RDWR | O_CLOEXEC)) {}
    ~Device() {
        if (descriptor_ >= 0) close(descriptor_);
    }
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    bool is_open() const { return descriptor_ >= 0; }
    int descriptor() const { return descriptor_; }

    template <typename Request>
    bool call(unsigned long number, Request& request) const {
        int status = 0;
        do status = ioctl(descriptor_, number, &request);
        while (status != 0 && (errno == EINTR || errno == EAGAIN));
        return status == 0;
    }

  private:
    int descriptor_;
};

/// Memory that the NPU sees, mapped into this process if `map` was called.
class Buffer {
  public:
    explicit Buffer(const Device& device) : device_(device) {}
    ~Buffer() {
        if (data_ != nullptr) munmap(data_, size_);
        accel::CloseBuffer request{handle_, 0};
        if (handle_ != 0) device_.call(accel::kCloseBuffer, request);
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    uint32_t handle() const { return handle_; }
    uint8_t* data() const { return data_; }

    bool create(size_t size) {
        accel::CreateBuffer request{size, 0, 0};
        if (!device_.call(accel::kCreateBuffer, request)) return false;
        handle_ = request.handle;
        size_ = size;
        accel::MapOffset place{handle_, 0, 0};
        if (!device_.call(accel::kMapOffset, place)) return false;
        void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, device_.descriptor(),
                            static_cast<off_t>(place.offset));
        if (mapped == MAP_FAILED) return false;
        data_ = static_cast<uint8_t*>(mapped);
        return true;
    }

    bool create_commands(Bytes stream) {
        accel::CreateCommands request{static_cast<uint32_t>(stream.size), 0,
                                      reinterpret_cast<uintptr_t>(stream.data), 0, 0};
        if (!device_.call(accel::kCreateCommands, request)) return false;
        handle_ = request.handle;
        return true;
    }

  private:
    const Device& device_;
    uint32_t handle_ = 0;
    size_t size_ = 0;
    uint8_t* data_ = nullptr;
};

class LinuxNetwork final : public Network {
  public:
    LinuxNetwork(const char* device, const Payload& payload)
        : path_(device), payload_(payload), device_(device) {}

    bool load(Report report) {
        Container container;
        if (const char* problem = read_commands(payload_, container)) {
            report(problem);
            return false;
        }
        if (!device_.is_open()) {
            report_errno(report, path_);
            return false;
        }
        accel::NpuInfo info{};
        accel::Query query{0, sizeof info, reinterpret_cast<uintptr_t>(&info)};
        if (!device_.call(accel::kQuery, query)) {
            report_errno(report, "the device does not say which NPU it is; is it an Ethos-U?");
            return false;
        }
        constexpr uint32_t kAccelerator = 0xF000000F;  // product and MACs
        if ((info.config & kAccelerator) != (container.configuration & kAccelerator)) {
            char text[128];
            std::snprintf(
                text, sizeof text,
                "the program is for CONFIG 0x%08x and the NPU has 0x%08x: compile for this NPU",
                static_cast<unsigned>(container.configuration), static_cast<unsigned>(info.config));
            report(text);
            return false;
        }
        sram_size_ = info.sram_size;
        if (!commands_.create_commands({container.stream.bytes(), 4 * container.stream.size()})) {
            report_errno(report, "the driver refused the command stream");
            return false;
        }
        if ((payload_.weights.size > 0 && !weights_.create(payload_.weights.size)) ||
            (payload_.scratch_size > 0 && !scratch_.create(payload_.scratch_size))) {
            report_errno(report, "the driver has no memory for weights and scratch");
            return false;
        }
        if (payload_.weights.size > 0)
            std::memcpy(weights_.data(), payload_.weights.data, payload_.weights.size);
        return true;
    }

    size_t temporary_size() const override { return 0; }

    uint8_t* scratch(uint8_t*, Report report) override {
        if (lost_) report(kLost);  // the job reads and writes this memory still
        return lost_ ? nullptr : scratch_.data();
    }

    bool run(uint8_t*, Report report) override {
        accel::Job job{commands_.handle(), sram_size_, {weights_.handle(), scratch_.handle()}};
        accel::Submit submit{reinterpret_cast<uintptr_t>(&job), 1, 0};
        if (!device_.call(accel::kSubmit, submit)) {
            report_errno(report, "the driver refused the job");
            return false;
        }
        accel::Wait wait{scratch_.handle(), 0, now() + kTimeout};
        if (device_.call(accel::kWait, wait)) return true;
        lost_ = true;
        report_errno(report, "waiting for the NPU failed");
        return false;
    }

  private:
    const char* path_;
    const Payload& payload_;
    Device device_;  // before its buffers, so that it is closed after them
    Buffer commands_{device_}, weights_{device_}, scratch_{device_};
    uint32_t sram_size_ = 0;
    bool lost_ = false;  ///< whether a job may be in flight still
};

}  // namespace

Network* open_on_linux(const char* device, const Payload& payload, const Allocator& allocator,
                       Report report) {
    void* memory = allocator.take(allocator.context, sizeof(LinuxNetwork), alignof(LinuxNetwork));
    if (memory == nullptr) {
        report("no memory for the Linux driver's state");
        return nullptr;
    }
    auto* network = new (memory) LinuxNetwork(device, payload);
    if (network->load(report)) return network;
    network->~LinuxNetwork();
    return nullptr;
}

}  // namespace arm_runtime::ethosu
