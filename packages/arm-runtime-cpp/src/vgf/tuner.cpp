#include "tuner.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <vector>

#include "device_traits.hpp"
#include "self_test.hpp"
#include "submission.hpp"

namespace arm_runtime::vgf {
namespace {

constexpr uint64_t kBudget = 2'000'000'000;  // ns, of one load, which tries one variant at least
constexpr uint64_t kRoundBudget = kBudget / 8;
constexpr uint64_t kWarmUp = 20'000'000;  // ns: a GPU that idles is slow at first
constexpr int kRuns = 10;
constexpr size_t kMostRounds = 32;  // of self-tests and plans: there are not as many kernels
// A variant must be faster than the first by this, or timings that are equal but for noise would
// be a choice.
constexpr double kGain = 0.97;

using Key = std::pair<std::string, std::string>;  // of Variants: kernel and key
using Times = std::map<Key, double>;

class Search {
  public:
    /// `once`: what the time does not suffice for is not tried by later loads either.
    Search(Device& device, const ParsedFile& file, DeviceTraits traits, bool once)
        : device_(device), file_(file), traits_(std::move(traits)), once_(once) {}

    /// `engine` has the variants that the facts name; it is returned if nothing is left to try.
    std::unique_ptr<Engine> better_than(std::unique_ptr<Engine> engine) {
        // Push constants are not known yet, and without them nothing runs.
        if (device_.timestamp_period() == 0 || file_.program.takes_push_constants()) return engine;
        const uint64_t start = now();
        find_open(*engine);
        if (open_.empty()) return engine;
        Times best = times_of(*engine);
        engine.reset();  // not two of them in the device's memory
        for (size_t variant = 1; variant < most_; ++variant) {
            const bool any = std::any_of(open_.begin(), open_.end(), [&](const auto& one) {
                return one.second.tried == variant && variant < counts_.at(one.first);
            });
            if (!any) continue;
            // The longest round so far may come again.
            const uint64_t round = now();
            if (longest_ != 0 && round - start + longest_ > kBudget) break;
            try_variant(variant, best);
            longest_ = std::max(longest_, now() - round);
        }
        for (auto& [key, choice] : open_) {
            if (once_) choice.tried = counts_.at(key);
            device_.facts().set_choice(key.first.c_str(), key.second, choice);
        }
        return make_compute_engine(device_, file_, traits_);
    }

  private:
    /// What has variants that were not tried.
    void find_open(const Engine& engine) {
        for (const Dispatch* dispatch : engine.dispatches()) {
            const Variants& variants = dispatch->variants;
            if (variants.count < 2) continue;
            const auto known = device_.facts().choice(variants.kernel, variants.key);
            if (known.tried >= variants.count) continue;
            open_[{variants.kernel, variants.key}] = known;
            counts_[{variants.kernel, variants.key}] = variants.count;
            most_ = std::max(most_, variants.count);
        }
    }

    void try_variant(size_t variant, Times& best) {
        DeviceTraits traits = traits_;
        const auto is_next = [&](const Key& key) {
            const auto found = open_.find(key);
            return found != open_.end() && found->second.tried == variant &&
                   variant < counts_.at(key);
        };
        traits.variant = [&](const char* kernel, const std::string& key) {
            return is_next({kernel, key}) ? variant : traits_.variant(kernel, key);
        };
        const auto engine = make_compute_engine(device_, file_, traits);
        for (const auto& [key, time] : times_of(*engine)) {
            if (!is_next(key)) continue;
            KernelFacts::Choice& choice = open_.at(key);
            ++choice.tried;
            if (time >= kGain * best.at(key)) continue;
            best[key] = time;
            choice.variant = variant;
        }
    }

    /// The shortest time of each key's dispatches, of several runs.
    Times times_of(Engine& engine) const {
        const Program& program = file_.program;
        for (size_t i = 0; i < program.inputs.size(); ++i) {
            const Resource& resource = program.resources[program.inputs[i].resource];
            std::memset(engine.input(i), 0, resource.bytes);
        }
        std::vector<Event> events;
        const uint64_t start = now();
        do engine.run(nullptr);
        while (now() - start < kWarmUp);
        const std::vector<const Dispatch*> dispatches = engine.dispatches();
        std::vector<uint64_t> shortest(dispatches.size(), std::numeric_limits<uint64_t>::max());
        for (int run = 0; run < kRuns && (run == 0 || now() - start < kRoundBudget); ++run) {
            events.clear();
            engine.run(&events);
            for (size_t i = 0; i < events.size(); ++i) {
                shortest[i] = std::min(shortest[i], events[i].end - events[i].begin);
            }
        }
        Times times;
        for (size_t i = 0; i < events.size(); ++i) {
            const Dispatch& dispatch = *dispatches[i];
            if (dispatch.variants.count < 2) continue;
            times[{dispatch.variants.kernel, dispatch.variants.key}] +=
                static_cast<double>(shortest[i]);
        }
        return times;
    }

    Device& device_;
    const ParsedFile& file_;
    DeviceTraits traits_;
    bool once_;
    std::map<Key, KernelFacts::Choice> open_;
    std::map<Key, size_t> counts_;
    size_t most_ = 0;
    uint64_t longest_ = 0;
};

}  // namespace

DeviceTraits tuned_traits(Device& device, const Options& options) {
    DeviceTraits traits = traits_of(device);
    traits.variant = [&device, forced = options.test.variant](const char* kernel,
                                                              const std::string& key) {
        if (forced >= 0) return static_cast<size_t>(forced);
        return device.facts().choice(kernel, key).variant;
    };
    return traits;
}

std::unique_ptr<Engine> make_tuned_engine(Device& device, const ParsedFile& file,
                                          const Options& options, const Graphs& graphs,
                                          const Use& use) {
    DeviceTraits traits = tuned_traits(device, options);
    auto engine = make_compute_engine(device, file, traits, graphs, use);
    const bool tested =
        !device.is_cpu() || options.tuning == Tuning::kAlways || !options.test.wrong_kernel.empty();
    // Each further round is without one more kernel: there are no more rounds than kernels.
    for (size_t round = 0; tested && !test_kernels(device, traits, *engine,
                                                   options.test.wrong_kernel, use.test_kernels);
         ++round) {
        if (round == kMostRounds)
            throw Error("too many kernels compute wrongly on " + device.name());
        engine.reset();
        engine = make_compute_engine(device, file, traits, graphs, use);
    }
    const bool tuned =
        options.tuning == Tuning::kAlways || (options.tuning == Tuning::kOn && !device.is_cpu());
    if (!tuned || options.test.variant >= 0 || graphs.at) return engine;
    Search search(device, file, traits, options.tuning == Tuning::kOn);
    if (use.ports == Ports::kHost) return search.better_than(std::move(engine));
    engine.reset();  // not two of them in the device's memory
    search.better_than(make_compute_engine(device, file, traits));
    return make_compute_engine(device, file, traits, graphs, use);
}

}  // namespace arm_runtime::vgf
