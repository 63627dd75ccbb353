// Logging that several threads of a Python process may do at once.
#pragma once

#include <dlfcn.h>
#include <executorch/runtime/platform/platform.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace arm_runtime {

/// A line of ExecuTorch's log to standard error, in one write.
inline void log_line(et_timestamp_t, et_pal_log_level_t, const char* file, const char*, size_t line,
                     const char* message, size_t) {
    char text[1024];
    const int made = std::snprintf(text, sizeof text, "[%s:%zu] %s\n", file, line, message);
    if (made <= 0) return;
    const size_t size =
        static_cast<size_t>(made) < sizeof text ? static_cast<size_t>(made) : sizeof text - 1;
    text[size - 1] = '\n';
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, size);
}

/// Takes ExecuTorch's log away from its Python bindings: they write it to `sys.stderr` by way of
/// std::cerr, and two threads that log at once end the process. Other logs, such as an
/// application's own, stay.
inline void log_past_python() {
    namespace et = executorch::runtime;
    Dl_info owner{};
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): as dladdr takes a function
    dladdr(reinterpret_cast<const void*>(et::get_pal_impl()->emit_log_message), &owner);
    if (owner.dli_fname == nullptr || std::strstr(owner.dli_fname, "/pybindings/") == nullptr)
        return;
    // Not by register_pal, which would log by the bindings that it does so a second time.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): the table is not const
    const_cast<et::PalImpl*>(et::get_pal_impl())->emit_log_message = log_line;
}

}  // namespace arm_runtime
