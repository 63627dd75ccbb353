// arm_runner: runs method "forward" of an ExecuTorch program on .npy files.
#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "memory_order.hpp"
#include "npy.hpp"

namespace {

using arm_runtime::Array;
using arm_runtime::copy_elements;
using arm_runtime::strides_of;
using executorch::aten::Tensor;
using executorch::etdump::ETDumpGen;
using executorch::extension::from_blob;
using executorch::extension::Module;
using executorch::extension::TensorPtr;
using executorch::runtime::Error;
using executorch::runtime::EValue;

constexpr const char* kUsage =
    "usage: arm_runner --model FILE.pte [--data FILE.ptd]... [--input FILE.npy]... [--output "
    "FILE.npy]...\n"
    "                  [--repeat N] [--etdump FILE]\n";
constexpr const char* kHelp =
    "Runs method forward of an ExecuTorch program, and prints how long it took.\n"
    "  --model FILE.pte    the program\n"
    "  --data FILE.ptd     weights that are kept beside it; again for each such file\n"
    "  --input FILE.npy    an input; one for each, in order\n"
    "  --output FILE.npy   where an output goes; one for each, in order, or none\n"
    "  --repeat N          runs it N times: the least, median and largest time (default 1)\n"
    "  --etdump FILE       writes where the time goes, as ExecuTorch's ETDump\n"
    "  --help              this text\n"
    "Inputs and outputs are row-major, whatever order the program keeps them in.\n"
    "A .npy holds bool, int8 to int64, uint8, uint16, or float16 to float64; bfloat16, which\n"
    "NumPy lacks, as its 2-byte void: bits.view('V2').\n"
    "Exit status: 0; 1 if the program or a file cannot be used; 2 if the request is not one.\n"
    "ARM_VGF_DEVICE and ARM_ETHOSU_DEVICE choose devices.\n";

constexpr long kMostRuns = 10'000'000;  // the time of each is kept

struct Options {
    std::string model, etdump;
    std::vector<std::string> data, inputs, outputs;
    long repeat = 1;
    bool help = false;
};

struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

Options parse(int argc, const char* const* argv) {
    Options options;
    for (int i = 1; i < argc; i += 2) {
        const std::string name = argv[i];
        if (name == "--help" || name == "-h") {
            options.help = true;
            return options;
        }
        if (i + 1 == argc) throw UsageError(name + " needs a value");
        const std::string value = argv[i + 1];
        if (name == "--model") {
            options.model = value;
        } else if (name == "--data") {
            options.data.push_back(value);
        } else if (name == "--input") {
            options.inputs.push_back(value);
        } else if (name == "--output") {
            options.outputs.push_back(value);
        } else if (name == "--etdump") {
            options.etdump = value;
        } else if (name == "--repeat") {
            char* end = nullptr;
            options.repeat = std::strtol(value.c_str(), &end, 10);
            if (end == value.c_str() || *end != 0 || options.repeat < 1 ||
                options.repeat > kMostRuns)
                throw UsageError("--repeat takes a number from 1 to " + std::to_string(kMostRuns) +
                                 ", not " + value);
        } else {
            throw UsageError("unknown option " + name);
        }
    }
    if (options.model.empty()) throw UsageError("--model is missing");
    return options;
}

void require(Error error, const std::string& what) {
    if (error != Error::Ok)
        throw std::runtime_error(what + " failed: ExecuTorch error " +
                                 executorch::runtime::to_string(error) + "; see the log above");
}

/// "Float [1, 3]"
template <typename Sizes>
std::string kind_text(executorch::aten::ScalarType type, const Sizes& sizes) {
    std::string text = std::string(executorch::runtime::toString(type)) + " [";
    for (size_t i = 0; i < sizes.size(); ++i) text += (i ? ", " : "") + std::to_string(sizes[i]);
    return text + "]";
}

/// Sizes that vary may be smaller than what the program says; whether they do, it does not say.
void check_input(const Options& options, size_t index, const Array& array,
                 const executorch::runtime::TensorInfo& wanted) {
    const auto sizes = wanted.sizes();
    if (array.type == wanted.scalar_type() &&
        std::equal(sizes.begin(), sizes.end(), array.shape.begin(), array.shape.end(),
                   [](int32_t most, int32_t size) { return size <= most; }))
        return;
    throw std::runtime_error(options.inputs[index] + ": is " + kind_text(array.type, array.shape) +
                             "; input " + std::to_string(index) + " of " + options.model + " is " +
                             kind_text(wanted.scalar_type(), sizes));
}

/// The axes of a tensor of this rank from the outermost to the innermost, in row-major order.
std::vector<uint8_t> row_major(size_t rank) {
    std::vector<uint8_t> order(rank);
    std::iota(order.begin(), order.end(), uint8_t{0});
    return order;
}

/// Brings an input into the order in memory that the program's has; returns its strides.
std::vector<int32_t> arrange(Array& array, const executorch::runtime::TensorInfo& wanted) {
    const auto dims = wanted.dim_order();
    const std::vector<uint8_t> order(dims.begin(), dims.end()),
        rows = row_major(array.shape.size());
    std::vector<int32_t> strides = strides_of(array.shape, order);
    if (order != rows) {
        const std::vector<uint8_t> given = array.data;
        copy_elements(array.shape, executorch::runtime::elementSize(array.type), given.data(),
                      strides_of(array.shape, rows), array.data.data(), strides);
    }
    return strides;
}

/// The elements in row-major order, whatever order they lie in.
Array array_of(const Tensor& tensor) {
    Array array;
    array.type = tensor.scalar_type();
    array.shape.assign(tensor.sizes().begin(), tensor.sizes().end());
    const auto size = static_cast<size_t>(tensor.element_size());
    array.data.resize(static_cast<size_t>(tensor.numel()) * size);
    const std::vector<int32_t> strides(tensor.strides().begin(), tensor.strides().end());
    copy_elements(array.shape, size, static_cast<const uint8_t*>(tensor.const_data_ptr()), strides,
                  array.data.data(), strides_of(array.shape, row_major(array.shape.size())));
    return array;
}

int run(const Options& options) {
    auto tracer = options.etdump.empty() ? nullptr : std::make_unique<ETDumpGen>();
    ETDumpGen* dump = tracer.get();
    Module module(options.model, options.data, Module::LoadMode::File, std::move(tracer));
    require(module.load(executorch::runtime::Program::Verification::InternalConsistency),
            "loading " + options.model);
    require(module.load_forward(), "loading method forward of " + options.model);
    const auto meta = module.method_meta("forward");
    require(meta.error(), "reading method forward");
    if (meta->num_inputs() != options.inputs.size())
        throw std::runtime_error(options.model + ": has " + std::to_string(meta->num_inputs()) +
                                 " inputs, and " + std::to_string(options.inputs.size()) +
                                 " --input were given");
    if (!options.outputs.empty() && meta->num_outputs() != options.outputs.size())
        throw std::runtime_error(options.model + ": has " + std::to_string(meta->num_outputs()) +
                                 " outputs, and " + std::to_string(options.outputs.size()) +
                                 " --output were given");

    std::vector<Array> arrays;
    std::vector<TensorPtr> tensors;
    std::vector<EValue> values;
    arrays.reserve(options.inputs.size());
    for (size_t i = 0; i < options.inputs.size(); ++i) {
        arrays.push_back(arm_runtime::read_npy(options.inputs[i]));
        const auto wanted = meta->input_tensor_meta(i);
        require(wanted.error(), "reading what input " + std::to_string(i) + " is");
        check_input(options, i, arrays[i], *wanted);
        std::vector<int32_t> strides = arrange(arrays[i], *wanted);
        tensors.push_back(
            from_blob(arrays[i].data.data(), arrays[i].shape, std::move(strides), arrays[i].type));
        values.emplace_back(tensors[i]);
    }

    std::vector<double> times;
    std::vector<EValue> results;
    for (long i = 0; i < options.repeat; ++i) {
        const auto start = std::chrono::steady_clock::now();
        auto outcome = module.forward(values);
        const std::chrono::duration<double, std::milli> time =
            std::chrono::steady_clock::now() - start;
        require(outcome.error(), "running " + options.model);
        results = std::move(outcome.get());
        times.push_back(time.count());
    }
    std::sort(times.begin(), times.end());
    std::printf("%zu runs, ms: least %.3f, median %.3f, largest %.3f\n", times.size(),
                times.front(), times[times.size() / 2], times.back());
    for (size_t i = 0; i < options.outputs.size(); ++i) {
        if (!results[i].isTensor())
            throw std::runtime_error("output " + std::to_string(i) + " is not a tensor");
        arm_runtime::write_npy(options.outputs[i], array_of(results[i].toTensor()));
    }
    if (dump != nullptr) {
        const executorch::etdump::ETDumpResult etdump = dump->get_etdump_data();
        const std::unique_ptr<void, void (*)(void*)> owner(etdump.buf, std::free);
        arm_runtime::write_file(options.etdump, etdump.buf, etdump.size);
    }
    return 0;
}

}  // namespace

// NOLINTNEXTLINE(misc-const-correctness): the signature is the standard's
int main(int argc, char** argv) {
    try {
        const Options options = parse(argc, argv);
        if (!options.help) return run(options);
        std::printf("%s%s", kUsage, kHelp);
        return 0;
    } catch (const UsageError& error) {
        std::fprintf(stderr, "arm_runner: %s\n%sarm_runner --help says more.\n", error.what(),
                     kUsage);
        return 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "arm_runner: %s\n", error.what());
        return 1;
    }
}
