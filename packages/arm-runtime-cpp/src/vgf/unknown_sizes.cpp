#include "unknown_sizes.hpp"

#include <algorithm>

#include "graph/graph.hpp"
#include "shape_text.hpp"
#include "sizes_text.hpp"

namespace arm_runtime::vgf {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 40;  // of a tensor; as in parsed_file.cpp
constexpr const char* kRemedy =
    ". Say the sizes of all inputs when the program is loaded: sizes=\"[2, 4]\" for one of shape "
    "[2, 4], or with names and their bounds for shapes that vary, sizes=\"[n, 4] n=1..8\"";

/// What the file knows and what is said, together.
std::vector<SizeExpression> joined(const Port& port, size_t index,
                                   const std::vector<int64_t>& shape, const SaidSizes& said) {
    const std::string what = "input " + std::to_string(index) + " ('" + port.name +
                             "') has shape " + shape_text(shape) + " in the file";
    if (index >= said.shapes.size()) {
        const auto unknown = std::find(shape.begin(), shape.end(), -1) - shape.begin();
        throw Error("VGF: " + what + ": dimension " + std::to_string(unknown) + " is unknown" +
                    kRemedy);
    }
    const std::vector<SizeExpression>& sizes = said.shapes[index];
    bool fits = sizes.size() == shape.size();
    for (size_t i = 0; fits && i < shape.size(); ++i) {
        fits = shape[i] == -1 || (!sizes[i].varies() && sizes[i].offset == shape[i]);
    }
    if (!fits) {
        std::string text;
        for (const SizeExpression& size : sizes) {
            text += (text.empty() ? "" : ", ") + size.text(said.symbols);
        }
        throw Error("VGF: " + what + ", which [" + text + "] does not fit");
    }
    return sizes;
}

std::vector<int64_t> at(const std::vector<SizeExpression>& shape,
                        const std::vector<int64_t>& values) {
    std::vector<int64_t> sizes;
    sizes.reserve(shape.size());
    for (const SizeExpression& size : shape) sizes.push_back(size.at(values.data()));
    return sizes;
}

/// Sizes that were unknown become known; `bytes` are those of the others till now.
void set_shape(Resource& resource, const std::vector<int64_t>& shape, const std::string& what) {
    for (size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] < 1 ||
            (resource.shape[i] == -1 &&
             __builtin_mul_overflow(resource.bytes, static_cast<uint64_t>(shape[i]),
                                    &resource.bytes)) ||
            resource.bytes > kMaxBytes) {
            throw Error("VGF: " + what + ": shape " + shape_text(shape) + " is out of range");
        }
    }
    resource.shape = shape;
}

/// Values of the symbols at which graphs are compared with the program, which has the largest: the
/// least of one, which says what depends on it, the least of all, and some within.
std::vector<std::vector<int64_t>> sample_points(const std::vector<Symbol>& symbols) {
    std::vector<int64_t> most;
    std::vector<int64_t> least;
    std::vector<int64_t> within;
    for (const Symbol& symbol : symbols) {
        most.push_back(symbol.most);
        least.push_back(symbol.least);
        within.push_back((symbol.least + symbol.most) / 2);
    }
    std::vector<std::vector<int64_t>> points{least, within};
    for (size_t i = 0; symbols.size() > 1 && i < symbols.size(); ++i) {
        points.push_back(most);
        points.back()[i] = least[i];
    }
    return points;
}

class UnknownSizes {
  public:
    UnknownSizes(ParsedFile& file, SaidSizes said) : file_(file), said_(std::move(said)) {
        for (const Symbol& symbol : said_.symbols) bound_.push_back(symbol.most);
    }

    void set() {
        if (said_.shapes.size() > program_.inputs.size()) {
            throw Error("the sizes say the shapes of " + std::to_string(said_.shapes.size()) +
                        " inputs, and the program has " + std::to_string(program_.inputs.size()));
        }
        for (size_t i = 0; i < program_.inputs.size(); ++i) set_input(i);
        for (size_t i = 0; i < program_.resources.size(); ++i) {
            const Resource& resource = program_.resources[i];
            if (resource.role != Role::kOutput && is_open(resource.shape)) {
                throw Error("VGF resource " + std::to_string(i) + ": its shape " +
                            shape_text(resource.shape) +
                            " has an unknown size (-1), and it is no input of the program");
            }
        }
        set_outputs();
        program_.symbols = said_.symbols;
        if (program_.symbols.empty()) return;
        for (const std::vector<int64_t>& point : sample_points(program_.symbols)) add_sample(point);
    }

  private:
    void set_input(size_t index) {
        const Port& port = program_.inputs[index];
        Resource& resource = program_.resources[port.resource];
        if (!is_open(resource.shape)) return;
        shapes_.emplace_back(port.resource, joined(port, index, resource.shape, said_));
        set_shape(resource, at(shapes_.back().second, bound_), "input " + std::to_string(index));
    }

    /// What the graph computes at the largest sizes says the outputs'.
    void set_outputs() {
        const Graph graph = read_graph(file_, 0);
        for (const GraphPort& port : graph.outputs) {
            Resource& resource = program_.resources[port.resource];
            if (!is_open(resource.shape)) continue;
            set_shape(resource, graph.tensors[port.tensor].shape,
                      "resource " + std::to_string(port.resource));
        }
        for (const Port& port : program_.outputs) {
            if (is_open(program_.resources[port.resource].shape)) {
                throw Error("VGF output '" + port.name +
                            "': its size is unknown (-1), and no graph writes it");
            }
        }
    }

    void add_sample(const std::vector<int64_t>& point) {
        Sample sample{point, {}, {}, {}};
        for (const auto& [resource, shape] : shapes_) {
            sample.shapes.emplace_back(resource, at(shape, point));
        }
        file_.samples.push_back(std::move(sample));
    }

    ParsedFile& file_;
    Program& program_ = file_.program;
    SaidSizes said_;
    std::vector<int64_t> bound_;
    std::vector<std::pair<uint32_t, std::vector<SizeExpression>>> shapes_;  ///< by resource
};

}  // namespace

bool is_open(const std::vector<int64_t>& shape) {
    return std::find(shape.begin(), shape.end(), -1) != shape.end();
}

bool may_be_one(const std::vector<int64_t>& one, const std::vector<int64_t>& other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                      [](int64_t a, int64_t b) { return a == b || a == -1 || b == -1; });
}

void set_unknown_sizes(ParsedFile& file, const std::string& text) {
    Program& program = file.program;
    const auto& all = program.resources;
    const auto unknown = std::find_if(all.begin(), all.end(),
                                      [](const Resource& each) { return is_open(each.shape); });
    if (unknown == all.end()) return;
    if (program.segments.size() != 1 || !program.segments[0].graph()) {
        throw Error("VGF resource " + std::to_string(unknown - all.begin()) + ": its shape " +
                    shape_text(unknown->shape) +
                    " has an unknown size (-1), which only programs of one graph may have");
    }
    program.had_unknown_sizes = true;
    UnknownSizes(file, read_sizes_text(text)).set();
}

}  // namespace arm_runtime::vgf
