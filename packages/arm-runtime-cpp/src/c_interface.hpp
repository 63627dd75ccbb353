// What the C interfaces share: structures that begin with their size, and the last error of a
// thread. No exception leaves them: each function runs its body in `status_of`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace arm_runtime::c {

/// Of this thread's last call that failed, in this library.
inline thread_local std::string last_error;  // NOLINT: what a C interface needs

/// Calls `function`; what it throws becomes the last error.
template <typename Function>
bool succeeds(Function function) {
    try {
        function();
        return true;
    } catch (const std::exception& error) {
        last_error = error.what();
        return false;
    }
}

/// 0, or -1 if `function` throws.
template <typename Function>
int status_of(Function function) {
    return succeeds(function) ? 0 : -1;
}

/// Throws unless the caller has set the size of a structure.
template <typename Struct>
void check_size(const Struct* given) {
    if (given == nullptr || given->size < sizeof(size_t)) {
        throw std::invalid_argument("a structure's member `size` is not set: sizeof is wanted");
    }
}

/// What a caller's structure holds of ours; members beyond its size are zero.
template <typename Struct>
Struct read_struct(const Struct* given) {
    check_size(given);
    Struct out{};
    std::memcpy(static_cast<void*>(&out), given, std::min(given->size, sizeof(Struct)));
    return out;
}

/// Fills in as much of a caller's structure as it has room for.
template <typename Struct>
void write_struct(Struct* to, Struct from) {
    check_size(to);
    from.size = to->size;
    std::memcpy(static_cast<void*>(to), &from, std::min(to->size, sizeof(Struct)));
}

/// The element of a caller's array, whose step is the `size` of the first.
template <typename Struct>
Struct* element(Struct* first, size_t index) {
    using Byte = std::conditional_t<std::is_const_v<Struct>, const char, char>;
    return reinterpret_cast<Struct*>(reinterpret_cast<Byte*>(first) + index * first->size);
}

/// A caller's array of structures; `what` names one.
template <typename Struct>
std::vector<Struct> read_structs(const Struct* given, size_t count, const std::string& what) {
    if (count != 0 && given == nullptr) throw std::invalid_argument(what + "s are NULL");
    std::vector<Struct> out;
    out.reserve(count);
    for (size_t i = 0; i < count; ++i) out.push_back(read_struct(element(given, i)));
    return out;
}

}  // namespace arm_runtime::c
