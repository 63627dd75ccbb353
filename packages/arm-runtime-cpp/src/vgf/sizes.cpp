#include "sizes.hpp"

#include <algorithm>

#include "shape_text.hpp"

namespace arm_runtime::vgf {
namespace {

// Each has a plan of its own, all of which are made when the program is loaded.
constexpr size_t kMaxSizes = 1024;

bool is_one(uint32_t symbols) { return symbols != 0 && (symbols & (symbols - 1)) == 0; }

std::vector<SizeExpression> shape_of(const Program& program, const SizedGraph* graph,
                                     uint32_t resource) {
    if (graph != nullptr && graph->shape(resource) != nullptr) return *graph->shape(resource);
    std::vector<SizeExpression> out;
    for (const int64_t size : program.resources[resource].shape) out.push_back({0, 0, size});
    return out;
}

}  // namespace

Sizes::Sizes(const Program& program, const SizedGraph* graph) : symbols_(program.symbols) {
    std::vector<Expressions> output_shapes;
    for (const auto& [ports, infos, shapes] :
         {std::tuple(&program.inputs, &inputs_, &input_shapes_),
          std::tuple(&program.outputs, &outputs_, &output_shapes)}) {
        for (const Port& port : *ports) {
            const Resource& resource = program.resources[port.resource];
            shapes->push_back(shape_of(program, graph, port.resource));
            std::vector<std::string> texts;
            for (const SizeExpression& size : shapes->back()) texts.push_back(size.text(symbols_));
            infos->push_back(
                {port.name, port.type, resource.shape, resource.bytes, std::move(texts)});
        }
    }
    check_symbols_are_said();
    const size_t count = combinations();
    for (size_t number = 0; number < count; ++number) {
        const std::vector<int64_t> at = values(number);
        std::vector<std::vector<int64_t>>& all = output_shapes_.emplace_back();
        for (const Expressions& shape : output_shapes) {
            std::vector<int64_t>& sizes = all.emplace_back();
            for (const SizeExpression& size : shape) sizes.push_back(size.at(at.data()));
        }
    }
}

std::vector<int64_t> Sizes::values(size_t number) const {
    std::vector<int64_t> out;
    for (const Symbol& symbol : symbols_) {
        const auto range = static_cast<size_t>(symbol.most - symbol.least + 1);
        out.push_back(symbol.least + static_cast<int64_t>(number % range));
        number /= range;
    }
    return out;
}

size_t Sizes::combinations() const {
    size_t count = 1;
    for (const Symbol& symbol : symbols_) {
        count *= std::min(static_cast<size_t>(symbol.most - symbol.least + 1), kMaxSizes + 1);
        if (count > kMaxSizes) {
            throw Error("VGF: its sizes have more than " + std::to_string(kMaxSizes) +
                        " combinations, up to that of '" + symbol.name +
                        "': export it with fewer, such as multiples of 8");
        }
    }
    return count;
}

void Sizes::check_symbols_are_said() const {
    uint32_t said = 0;
    for (const Expressions& shape : input_shapes_) {
        for (const SizeExpression& size : shape) said |= is_one(size.symbols) ? size.symbols : 0;
    }
    for (size_t i = 0; i < symbols_.size(); ++i) {
        if ((said >> i & 1) == 0) {
            throw Error("VGF: no dimension of an input says what '" + symbols_[i].name + "' is");
        }
    }
}

bool Sizes::read(const SizeExpression& expression, int64_t size, Values& values) const {
    if (!is_one(expression.symbols)) return true;
    size_t symbol = 0;
    while ((expression.symbols >> symbol & 1) == 0) ++symbol;
    const int64_t rest = size - expression.offset;
    if (rest % expression.factor != 0) return false;
    const int64_t value = rest / expression.factor;
    if (values[symbol] == 0) values[symbol] = value;
    return value >= symbols_[symbol].least && value <= symbols_[symbol].most;
}

size_t Sizes::number_of(const Argument* inputs) const {
    Values values{};
    const auto refuse = [&](size_t i) {
        const std::vector<int64_t> got(inputs[i].shape, inputs[i].shape + inputs[i].rank);
        throw Error("input " + std::to_string(i) + " ('" + inputs_[i].name + "') has shape " +
                    wanted(i) + ", got " + shape_text(got));
    };
    for (size_t i = 0; i < inputs_.size(); ++i) {
        const Expressions& shape = input_shapes_[i];
        // A scalar may come with no dimension or with one.
        const bool scalar =
            inputs[i].rank == 0 && shape.size() == 1 && !shape[0].varies() && shape[0].offset == 1;
        if (scalar) continue;
        if (inputs[i].rank != shape.size()) refuse(i);
        for (size_t d = 0; d < shape.size(); ++d) {
            const bool fixed = !shape[d].varies();
            if (fixed ? inputs[i].shape[d] != shape[d].offset
                      : !read(shape[d], inputs[i].shape[d], values)) {
                refuse(i);
            }
        }
    }
    for (size_t i = 0; i < inputs_.size(); ++i) {
        for (size_t d = 0; d < inputs[i].rank; ++d) {
            if (inputs[i].shape[d] != input_shapes_[i][d].at(values.data())) {
                throw Error("input " + std::to_string(i) + " ('" + inputs_[i].name +
                            "') has shape " + wanted(i) + ", and dimension " + std::to_string(d) +
                            " is " + std::to_string(inputs[i].shape[d]) +
                            ", which is not what another dimension says");
            }
        }
    }
    size_t number = 0;
    for (size_t i = symbols_.size(); i-- > 0;) {
        const auto range = static_cast<size_t>(symbols_[i].most - symbols_[i].least + 1);
        number = number * range + static_cast<size_t>(values[i] - symbols_[i].least);
    }
    return number;
}

std::string Sizes::wanted(size_t input) const {
    std::string out = "[";
    uint32_t used = 0;
    for (size_t d = 0; d < input_shapes_[input].size(); ++d) {
        out += (d == 0 ? "" : ", ") + inputs_[input].sizes[d];
        used |= input_shapes_[input][d].symbols;
    }
    out += ']';
    for (size_t i = 0; i < symbols_.size(); ++i) {
        if ((used >> i & 1) == 0) continue;
        out += " with " + symbols_[i].name + " from " + std::to_string(symbols_[i].least) + " to " +
               std::to_string(symbols_[i].most);
    }
    return out;
}

}  // namespace arm_runtime::vgf
