#include "sized_graph.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "../shape_text.hpp"
#include "check_operator.hpp"

namespace arm_runtime::vgf {
namespace {

void require_same(bool same, const std::string& what) {
    if (!same) throw Error("the graphs of its varying sizes differ in " + what);
}

std::vector<int64_t> numbers_of(const Tensor& tensor) {
    std::vector<int64_t> out(tensor.data.size() / sizeof(int32_t));
    for (size_t i = 0; i < out.size(); ++i) {
        int32_t value = 0;
        std::memcpy(&value, &tensor.data[i * sizeof(value)], sizeof(value));
        out[i] = value;
    }
    return out;
}

/// The elements of `all`, of shape `from`, that the shape `to` has as well.
std::vector<uint8_t> part_of(const std::vector<uint8_t>& all, const std::vector<int64_t>& from,
                             const std::vector<int64_t>& to, size_t element) {
    std::vector<uint8_t> out;
    const auto row = static_cast<size_t>(to.back()) * element;
    std::vector<int64_t> at(to.size(), 0);
    for (;;) {
        size_t place = 0;
        for (size_t i = 0; i < at.size(); ++i) {
            place = place * static_cast<size_t>(from[i]) + static_cast<size_t>(at[i]);
        }
        const auto* const begin = all.data() + place * element;
        out.insert(out.end(), begin, begin + row);
        size_t axis = at.size() - 1;
        for (; axis > 0; --axis) {
            ++at[axis - 1];
            if (at[axis - 1] != to[axis - 1]) break;
            at[axis - 1] = 0;
        }
        if (axis == 0) return out;
    }
}

Graph read_sample(const ParsedFile& file, const Sample& sample, const std::string& where) {
    const Segment& segment = file.program.segments[0];
    SegmentCode code = file.code[0];
    code.sample = true;
    std::vector<Resource> resources = file.program.resources;
    for (const auto& [resource, shape] : sample.shapes) resources[resource].shape = shape;
    if (sample.shapes.empty()) {
        code.words = sample.code.data();
        code.count = sample.code.size();
        code.entry_point = sample.entry_point;
        return read_graph(resources, segment, code, where + ", sample");
    }
    return read_graph(resources, segment, code,
                      where + " at the sizes " + shape_text(sample.values));
}

}  // namespace

SizedGraph::SizedGraph(const ParsedFile& file)
    : symbols_(file.program.symbols), graph_(read_graph(file, 0)) {
    for (const Symbol& symbol : symbols_) bound_.push_back(symbol.most);
    points_.push_back(bound_);
    const std::string where = text_of(file.program.segments[0], 0);
    std::vector<Graph> samples;
    for (const Sample& sample : file.samples) {
        samples.push_back(read_sample(file, sample, where));
        points_.push_back(sample.values);
    }
    try {
        compare(samples);
    } catch (const Error& error) {
        throw Error(where + ": " + error.what());
    }
}

void SizedGraph::compare(const std::vector<Graph>& samples) {
    std::vector<std::map<uint32_t, uint32_t>> twins(samples.size());  // by a sample's tensors
    std::set<uint32_t> changed;
    const auto note_computed = [&](uint32_t tensor, const auto& twin_of) {
        std::vector<const Tensor*> all{&graph_.tensors[tensor]};
        for (size_t i = 0; i < samples.size(); ++i) {
            const uint32_t twin = twin_of(samples[i]);
            twins[i][twin] = tensor;
            all.push_back(&samples[i].tensors[twin]);
        }
        if (note(tensor, all)) changed.insert(tensor);
    };
    for (const Graph& sample : samples) {
        require_same(sample.inputs.size() == graph_.inputs.size() &&
                         sample.outputs.size() == graph_.outputs.size() &&
                         sample.operators.size() == graph_.operators.size(),
                     "the number of inputs, outputs or operators");
    }
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
        note_computed(graph_.inputs[i].tensor,
                      [&](const Graph& sample) { return sample.inputs[i].tensor; });
        for (const Graph& sample : samples) {
            require_same(sample.inputs[i].resource == graph_.inputs[i].resource, "an input");
        }
    }
    for (size_t i = 0; i < graph_.operators.size(); ++i) {
        try {
            for (const Graph& sample : samples) {
                const Operator& other = sample.operators[i];
                const Operator& op = graph_.operators[i];
                require_same(other.opcode == op.opcode &&
                                 other.operands.size() == op.operands.size() &&
                                 other.results.size() == op.results.size(),
                             "its kind");
            }
            compare_operands(samples, i, twins);
            for (size_t r = 0; r < graph_.operators[i].results.size(); ++r) {
                note_computed(graph_.operators[i].results[r],
                              [&](const Graph& sample) { return sample.operators[i].results[r]; });
            }
        } catch (const Error& error) {
            throw Error("operator " + std::to_string(i) + " (" +
                        opcode_name(graph_.operators[i].opcode) + "): " + error.what());
        }
    }
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
        for (size_t s = 0; s < samples.size(); ++s) {
            const GraphPort& other = samples[s].outputs[i];
            const auto twin = twins[s].find(other.tensor);
            require_same(other.resource == graph_.outputs[i].resource && twin != twins[s].end() &&
                             twin->second == graph_.outputs[i].tensor,
                         "an output");
        }
    }
    std::map<uint32_t, const Varying*> by_tensor;
    for (const Varying& one : varying_) by_tensor[one.tensor] = &one;
    for (size_t i = 0; i < graph_.operators.size(); ++i) {
        const Operator& op = graph_.operators[i];
        const auto varies = [&](uint32_t tensor) { return by_tensor.count(tensor) != 0; };
        if (std::any_of(op.operands.begin(), op.operands.end(), varies) ||
            std::any_of(op.results.begin(), op.results.end(), varies)) {
            affected_.push_back(i);
        }
    }
    for (const auto* ports : {&graph_.inputs, &graph_.outputs}) {
        for (const GraphPort& port : *ports) {
            Expressions& shape = shapes_[port.resource];
            const auto found = by_tensor.find(port.tensor);
            if (found != by_tensor.end()) {
                shape = found->second->shape;
            } else {
                for (const int64_t size : graph_.tensors[port.tensor].shape) {
                    shape.push_back({0, 0, size});
                }
            }
        }
    }
}

void SizedGraph::compare_operands(const std::vector<Graph>& samples, size_t index,
                                  std::vector<std::map<uint32_t, uint32_t>>& twins) {
    const size_t count = graph_.operators[index].operands.size();
    for (size_t i = 0; i < count; ++i) {
        const uint32_t tensor = graph_.operators[index].operands[i];
        std::vector<const Tensor*> all{&graph_.tensors[tensor]};
        bool differs = false;
        for (size_t s = 0; s < samples.size(); ++s) {
            const uint32_t other = samples[s].operators[index].operands[i];
            const Tensor& twin = samples[s].tensors[other];
            if (!all[0]->constant) {
                const auto known = twins[s].find(other);
                require_same(known != twins[s].end() && known->second == tensor,
                             "operand " + std::to_string(i));
                continue;
            }
            require_same(twin.constant && twin.type == all[0]->type,
                         "operand " + std::to_string(i));
            differs = differs || twin.shape != all[0]->shape || twin.data != all[0]->data;
            all.push_back(&twin);
        }
        if (!differs) continue;
        // Others may use the same constant for what does not vary.
        const auto own = static_cast<uint32_t>(graph_.tensors.size());
        const Tensor copy = *all[0];
        graph_.tensors.push_back(copy);
        all[0] = &copy;
        graph_.operators[index].operands[i] = own;
        note(own, all);
    }
}

bool SizedGraph::note(uint32_t tensor, const std::vector<const Tensor*>& all) {
    Varying one{tensor, {}, {}, {}};
    std::vector<std::vector<int64_t>> shapes;
    for (const Tensor* each : all) {
        require_same(each->type == all[0]->type && each->shape.size() == all[0]->shape.size(),
                     "a type or rank");
        shapes.push_back(each->shape);
    }
    one.shape = fitted(shapes, "dimension");
    const bool reshaped = std::any_of(one.shape.begin(), one.shape.end(),
                                      [](const SizeExpression& size) { return size.varies(); });
    if (all[0]->constant && reshaped) {
        one.all = all[0]->data;
    } else if (all[0]->constant) {
        require_same(all[0]->type == ElementType::kInt32 && all[0]->shape.size() <= 1,
                     "a constant");
        std::vector<std::vector<int64_t>> numbers;
        numbers.reserve(all.size());
        for (const Tensor* each : all) numbers.push_back(numbers_of(*each));
        one.numbers = fitted(numbers, "number");
    } else if (!reshaped) {
        return false;
    }
    varying_.push_back(std::move(one));
    return true;
}

SizedGraph::Expressions SizedGraph::fitted(const std::vector<std::vector<int64_t>>& numbers,
                                           const char* what) const {
    Expressions out;
    for (size_t i = 0; i < numbers[0].size(); ++i) {
        std::vector<int64_t> at;
        at.reserve(numbers.size());
        for (const std::vector<int64_t>& each : numbers) at.push_back(each.at(i));
        const auto found = fit(points_, at);
        if (!found) {
            throw Error(std::string(what) + " " + std::to_string(i) + ", which is " +
                        shape_text(at) +
                        " at the sizes of the samples, is no multiple of a symbol");
        }
        out.push_back(*found);
    }
    return out;
}

Graph& SizedGraph::at(const std::vector<int64_t>& values) {
    for (const Varying& one : varying_) {
        Tensor& tensor = graph_.tensors[one.tensor];
        for (size_t i = 0; i < one.shape.size(); ++i) {
            tensor.shape[i] = one.shape[i].at(values.data());
            if (tensor.shape[i] < 1 || tensor.shape[i] > one.shape[i].at(bound_.data())) {
                throw Error("a size of " + std::to_string(tensor.shape[i]) +
                            " is beyond that at the bound");
            }
        }
        for (size_t i = 0; i < one.numbers.size(); ++i) {
            const auto number = static_cast<int32_t>(one.numbers[i].at(values.data()));
            std::memcpy(&tensor.data[i * sizeof(number)], &number, sizeof(number));
        }
        if (!one.all.empty()) {
            std::vector<int64_t> whole;
            for (const SizeExpression& size : one.shape) whole.push_back(size.at(bound_.data()));
            tensor.data = part_of(one.all, whole, tensor.shape, size_of(tensor.type));
        }
    }
    for (const size_t i : affected_) {
        const Operator& op = graph_.operators[i];
        try {
            check_operator(graph_, op);
        } catch (const Error& error) {
            throw Error("at the sizes " + shape_text(values) + ", operator " + std::to_string(i) +
                        " (" + opcode_name(op.opcode) + "): " + error.what());
        }
    }
    return graph_;
}

}  // namespace arm_runtime::vgf
