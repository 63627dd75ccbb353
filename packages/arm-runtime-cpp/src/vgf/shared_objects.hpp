// Vulkan objects that are made once for all who ask for the same.
#pragma once

#include <map>
#include <string>

namespace arm_runtime::vgf {

template <typename Handle>
class SharedObjects {
  public:
    /// One more user of the object that was made for `key`; a null handle if there is none.
    Handle share(const std::string& key) {
        const auto found = by_key_.find(key);
        if (found == by_key_.end()) return Handle{};
        ++users_.at(found->second).count;
        return found->second;
    }

    /// Notes an object, with one user. A driver may give equal objects one handle: those are left
    /// to it.
    void add(const std::string& key, Handle handle) {
        if (users_.emplace(handle, User{key, 1}).second) by_key_[key] = handle;
    }

    /// What an object was made for; nullptr: it is not shared.
    const std::string* key_of(Handle handle) const {
        const auto found = users_.find(handle);
        return found == users_.end() ? nullptr : &found->second.key;
    }

    /// One user fewer. True: nobody else uses the object, which may be destroyed.
    bool release(Handle handle) {
        const auto found = users_.find(handle);
        if (found == users_.end()) return true;
        if (--found->second.count > 0) return false;
        by_key_.erase(found->second.key);
        users_.erase(found);
        return true;
    }

  private:
    struct User {
        std::string key;
        size_t count = 0;
    };
    std::map<std::string, Handle> by_key_;
    std::map<Handle, User> users_;
};

}  // namespace arm_runtime::vgf
