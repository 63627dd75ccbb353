// A fake of the kernel's Ethos-U driver: open and ioctl are wrapped by the linker, buffers are
// parts of a memory file, so that mmap is the real one.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <ctime>
#include <map>
#include <vector>

#include "fake.hpp"
#include "linux_accel.hpp"
#include "linux_network.hpp"

namespace {

namespace accel = arm_runtime::ethosu::accel;
using arm_runtime::ethosu::Bytes;

constexpr const char* kPath = "/dev/accel/fake";
constexpr uint64_t kPage = 4096;

struct Buffer {
    uint64_t offset = 0, size = 0;
    std::vector<uint8_t> commands;  // not empty: not memory but a command stream
};

int descriptor = -1;
uint64_t end_of_file = 0;
uint32_t last_handle = 0;
std::map<uint32_t, Buffer> buffers;

bool refuse(int number) {
    errno = number;
    return false;
}

bool query(accel::Query& request) {
    fake::require(request.type == 0 && request.size == sizeof(accel::NpuInfo),
                  "the query is of the NPU");
    const accel::NpuInfo info{0, fake::fails("config") ? 0x00003008 : fake::kConfig, 0};
    std::memcpy(reinterpret_cast<void*>(request.pointer), &info, sizeof info);
    return true;
}

bool create_buffer(accel::CreateBuffer& request) {
    if (fake::fails("create_buffer")) return refuse(ENOMEM);
    fake::require(request.size > 0 && request.flags == 0 && request.handle == 0,
                  "a buffer has a size and no flags");
    buffers[++last_handle] = {end_of_file, request.size, {}};
    end_of_file += (request.size + kPage - 1) / kPage * kPage;
    request.handle = last_handle;
    return ftruncate(descriptor, static_cast<off_t>(end_of_file)) == 0;
}

bool create_commands(accel::CreateCommands& request) {
    if (fake::fails("create_commands")) return refuse(EINVAL);
    const auto* data = reinterpret_cast<const uint8_t*>(request.data);
    fake::require(request.flags == 0 && request.pad == 0 && request.size % 4 == 0,
                  "commands are words, without flags");
    fake::require(std::memcmp(data, "COP", 3) != 0,
                  "the driver takes commands, not driver actions");
    buffers[++last_handle].commands.assign(data, data + request.size);
    request.handle = last_handle;
    return true;
}

bool submit(accel::Submit& request) {
    if (fake::fails("submit")) return refuse(EINVAL);
    fake::require(request.count == 1 && request.pad == 0, "one job is submitted");
    accel::Job job;
    std::memcpy(&job, reinterpret_cast<const void*>(request.jobs), sizeof job);
    fake::require(job.sram_size == 0, "no more SRAM is asked for than there is");
    for (uint32_t i = 2; i < accel::kRegions; ++i)
        fake::require(job.regions[i] == 0, "regions 0 and 1 are used");
    const Buffer &weights = buffers.at(job.regions[0]), &scratch = buffers.at(job.regions[1]);
    auto* memory = static_cast<uint8_t*>(
        mmap(nullptr, end_of_file, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0));
    const std::vector<uint8_t>& commands = buffers.at(job.commands).commands;
    fake::require(!commands.empty(), "the job's commands are a command stream");
    fake::run({commands.data(), commands.size()}, {memory + weights.offset, weights.size},
              memory + scratch.offset, scratch.size);
    munmap(memory, end_of_file);
    return true;
}

bool wait(accel::Wait& request) {
    if (fake::fails("wait")) return refuse(ETIMEDOUT);
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    fake::require(request.deadline_ns > int64_t{time.tv_sec} * 1'000'000'000,
                  "the deadline is absolute");
    fake::require(buffers.count(request.handle) == 1 && request.pad == 0,
                  "what is waited for is a buffer");
    return true;
}

bool map_offset(accel::MapOffset& request) {
    request.offset = buffers.at(request.handle).offset;
    return true;
}

bool close_buffer(accel::CloseBuffer& request) {
    fake::require(buffers.erase(request.handle) == 1, "a buffer is closed once");
    if (buffers.empty()) fake::count("all closed");
    return true;
}

}  // namespace

extern "C" int __real_open(const char* path, int flags, ...);
extern "C" int __wrap_open(const char* path, int flags, ...) {
    if (std::strcmp(path, kPath) != 0) return __real_open(path, flags);
    fake::count("open");
    fake::require((flags & O_ACCMODE) == O_RDWR && (flags & O_CLOEXEC) != 0,
                  "the device is opened to read and write");
    if (!fake::fails("open")) return descriptor = memfd_create("fake", 0);
    errno = EACCES;
    return -1;
}

extern "C" int __wrap_ioctl(int file, unsigned long number, void* request) {
    fake::require(file == descriptor, "the call goes to the device");
    bool good = false;
    const auto call = [&](const char* name, auto function, auto& argument) {
        fake::count(name);
        good = function(argument);
    };
    switch (number) {
        case accel::kQuery:
            call("query", query, *static_cast<accel::Query*>(request));
            break;
        case accel::kCreateBuffer:
            call("create_buffer", create_buffer, *static_cast<accel::CreateBuffer*>(request));
            break;
        case accel::kMapOffset:
            call("map_offset", map_offset, *static_cast<accel::MapOffset*>(request));
            break;
        case accel::kCreateCommands:
            call("create_commands", create_commands, *static_cast<accel::CreateCommands*>(request));
            break;
        case accel::kSubmit:
            call("submit", submit, *static_cast<accel::Submit*>(request));
            break;
        case accel::kWait:
            call("wait", wait, *static_cast<accel::Wait*>(request));
            break;
        case accel::kCloseBuffer:
            call("close_buffer", close_buffer, *static_cast<accel::CloseBuffer*>(request));
            break;
        default:
            fake::require(false, "the driver has this call");
    }
    return good ? 0 : -1;
}

namespace arm_runtime::ethosu {

Network* open_network(const Payload& payload, const Allocator& allocator, Report report) {
    return open_on_linux(kPath, payload, allocator, report);
}

}  // namespace arm_runtime::ethosu
