// The interface of Linux's Ethos-U driver (drivers/accel/ethosu, Linux 6.19 and later), as facts:
// numbers and layouts are those of the kernel's include/uapi/drm/ethosu_accel.h and drm.h, which
// Debian 12 does not have yet.
#pragma once

#include <sys/ioctl.h>

#include <cstdint>

namespace arm_runtime::ethosu::accel {

constexpr uint32_t kRegions = 8, kSramRegion = 2;

/// Answer to the query of the NPU.
struct NpuInfo {
    uint32_t id, config, sram_size;
};
struct Query {
    uint32_t type, size;
    uint64_t pointer;
};
struct CreateBuffer {
    uint64_t size;
    uint32_t flags, handle;
};
struct MapOffset {
    uint32_t handle, pad;
    uint64_t offset;
};
struct Wait {
    uint32_t handle, pad;
    int64_t deadline_ns;  ///< of CLOCK_MONOTONIC
};
struct CreateCommands {
    uint32_t size, flags;
    uint64_t data;
    uint32_t handle, pad;
};
struct Job {
    uint32_t commands, sram_size;
    uint32_t regions[kRegions];
};
struct Submit {
    uint64_t jobs;
    uint32_t count, pad;
};
struct CloseBuffer {
    uint32_t handle, pad;
};

constexpr unsigned kFirst = 0x40;  // DRM's first number for drivers
constexpr unsigned long kQuery = _IOWR('d', kFirst + 0, Query);
constexpr unsigned long kCreateBuffer = _IOWR('d', kFirst + 1, CreateBuffer);
constexpr unsigned long kWait = _IOWR('d', kFirst + 2, Wait);
constexpr unsigned long kMapOffset = _IOWR('d', kFirst + 3, MapOffset);
constexpr unsigned long kCreateCommands = _IOWR('d', kFirst + 4, CreateCommands);
constexpr unsigned long kSubmit = _IOWR('d', kFirst + 5, Submit);
constexpr unsigned long kCloseBuffer = _IOW('d', 0x09, CloseBuffer);

}  // namespace arm_runtime::ethosu::accel
