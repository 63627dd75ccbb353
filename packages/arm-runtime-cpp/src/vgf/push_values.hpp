// The push constants of a program's shaders, and whether they were given.
#pragma once

#include <string>
#include <vector>

#include "engine.hpp"
#include "program.hpp"

namespace arm_runtime::vgf {

class PushValues {
  public:
    explicit PushValues(const std::vector<Segment>& segments) {
        for (uint32_t i = 0; i < segments.size(); ++i) {
            const PushRange push = segments[i].push();
            if (push.bytes == 0) continue;
            infos_.push_back({segments[i].name, push.offset, push.bytes});
            segments_.push_back(i);
        }
        given_.resize(segments_.size());
    }

    const std::vector<PushConstantInfo>& infos() const { return infos_; }

    /// Throws Error: there are none of this number, or not of this size.
    void check(size_t index, const void* data, size_t bytes) const {
        if (index >= infos_.size()) {
            throw Error("push constants " + std::to_string(index) + ": the program has " +
                        (infos_.empty() ? "none" : std::to_string(infos_.size()) + ", from 0"));
        }
        const PushConstantInfo& info = infos_[index];
        if (data == nullptr || bytes != info.bytes) {
            throw Error("the push constants of segment '" + info.segment + "' take " +
                        std::to_string(info.bytes) + " bytes, got " +
                        (data == nullptr ? "none" : std::to_string(bytes)));
        }
    }

    /// Gives some that were checked to an engine.
    void give(Engine& engine, size_t index, const void* data) {
        engine.push(segments_[index], static_cast<const uint8_t*>(data));
        given_[index] = true;
    }

    /// Throws Error: some are missing.
    void check_all() const {
        for (size_t i = 0; i < given_.size(); ++i) {
            if (given_[i]) continue;
            throw Error("segment '" + infos_[i].segment + "' takes " +
                        std::to_string(infos_[i].bytes) +
                        " bytes of push constants: give them before the first run");
        }
    }

  private:
    std::vector<PushConstantInfo> infos_;
    std::vector<uint32_t> segments_;
    std::vector<bool> given_;
};

}  // namespace arm_runtime::vgf
