#include <cstring>
#include <map>
#include <spirv/unified1/spirv.hpp>
#include <spirv/unified1/TOSA.001000.1.h>

#include "graph.hpp"

namespace arm_runtime::vgf {

size_t size_of(ElementType type) {
    static constexpr size_t k[] = {1, 1, 2, 4, 8, 2, 2, 4, 1, 1};
    return k[static_cast<size_t>(type)];
}
const char* name_of(ElementType type) {
    static constexpr const char* k[] = {"bool", "i8", "i16", "i32", "i48", "fp16", "bf16", "fp32", "fp8e4m3", "fp8e5m2"};
    return k[static_cast<size_t>(type)];
}
int64_t elements(const Tensor& t) { int64_t n = 1; for (auto s : t.shape) n *= s; return n; }
std::vector<int64_t> Graph::integers(const Operator& op, size_t index) const {
    const Tensor& t = operand(op, index);
    std::vector<int64_t> out;
    for (int64_t i = 0; i < elements(t); ++i) {
        const uint8_t* p = t.data.data() + static_cast<size_t>(i) * size_of(t.type);
        int64_t v = 0;
        if (t.type == ElementType::kInt16) { int16_t x; std::memcpy(&x, p, 2); v = x; }
        else if (t.type == ElementType::kInt32) { int32_t x; std::memcpy(&x, p, 4); v = x; }
        else if (t.type == ElementType::kInt48) { std::memcpy(&v, p, 8); }
        else v = static_cast<int8_t>(*p);
        out.push_back(v);
    }
    return out;
}
const char* opcode_name(uint32_t op) {
    static constexpr const char* k[] = {"ARGMAX","AVG_POOL2D","CONV2D","CONV3D","DEPTHWISE_CONV2D","FFT2D","MATMUL","MAX_POOL2D","RFFT2D","TRANSPOSE_CONV2D","CLAMP","ERF","SIGMOID","TANH","ADD","ARITHMETIC_RIGHT_SHIFT","BITWISE_AND","BITWISE_OR","BITWISE_XOR","INTDIV","LOGICAL_AND","LOGICAL_LEFT_SHIFT","LOGICAL_RIGHT_SHIFT","LOGICAL_OR","LOGICAL_XOR","MAXIMUM","MINIMUM","MUL","POW","SUB","TABLE","ABS","BITWISE_NOT","CEIL","CLZ","COS","EXP","FLOOR","LOG","LOGICAL_NOT","NEGATE","RECIPROCAL","RSQRT","SIN","SELECT","EQUAL","GREATER","GREATER_EQUAL","REDUCE_ALL","REDUCE_ANY","REDUCE_MAX","REDUCE_MIN","REDUCE_PRODUCT","REDUCE_SUM","CONCAT","PAD","RESHAPE","REVERSE","SLICE","TILE","TRANSPOSE","GATHER","SCATTER","RESIZE","CAST","RESCALE"};
    return op < 66 ? k[op] : "?";
}
Graph read_graph(const Program& program, const Segment& segment, const std::string& where) {
    Graph g;
    struct Type { char kind; ElementType e; uint32_t of; std::vector<int64_t> shape; uint32_t bits; };
    std::map<uint32_t, Type> types;
    std::map<uint32_t, uint32_t> tensor;  // id -> tensor
    std::map<uint32_t, std::vector<uint32_t>> composite;
    std::map<uint32_t, uint32_t> sets, bindings, vars;
    std::map<uint32_t, uint32_t> struct_of;
    auto add = [&](uint32_t id, ElementType e, std::vector<int64_t> shape, bool c) {
        Tensor t; t.type = e; t.shape = shape; t.constant = c;
        g.tensors.push_back(t); tensor[id] = static_cast<uint32_t>(g.tensors.size() - 1);
        return tensor[id];
    };
    const uint32_t* w = segment.code;
    std::vector<uint32_t> entry;
    std::vector<uint32_t> ins, outs;
    for (size_t at = 5; at < segment.code_words;) {
        const uint32_t* o = w + at; const uint32_t n = o[0] >> 16, op = o[0] & 0xffff;
        switch (op) {
            case spv::OpDecorate: if (o[2] == 33) bindings[o[1]] = o[3]; if (o[2] == 34) sets[o[1]] = o[3]; break;
            case spv::OpTypeBool: types[o[1]] = {'s', ElementType::kBool, 0, {}, 8}; break;
            case spv::OpTypeInt: types[o[1]] = {'s', o[2] == 8 ? ElementType::kInt8 : o[2] == 16 ? ElementType::kInt16 : o[2] == 32 ? ElementType::kInt32 : ElementType::kInt48, 0, {}, o[2]}; break;
            case spv::OpTypeFloat: types[o[1]] = {'s', o[2] == 32 ? ElementType::kFloat32 : n > 3 ? ElementType::kBFloat16 : ElementType::kFloat16, 0, {}, o[2]}; break;
            case spv::OpTypeArray: types[o[1]] = {'a', types[o[2]].e, o[2], {g.tensors[tensor[o[3]]].data[0] | g.tensors[tensor[o[3]]].data[1] << 8}, 0}; break;
            case spv::OpTypeTensorARM: { Type t{'t', types[o[2]].e, o[2], {}, 0}; if (n > 4) { const Tensor& s = g.tensors[tensor[o[4]]]; for (int64_t i = 0; i < elements(s); ++i) { int32_t v; std::memcpy(&v, &s.data[4 * i], 4); t.shape.push_back(v); } } types[o[1]] = t; break; }
            case spv::OpTypeStruct: types[o[1]] = {'r', ElementType::kBool, 0, {}, 0}; composite[o[1]] = std::vector<uint32_t>(o + 2, o + n); break;
            case spv::OpTypePointer: types[o[1]] = {'p', ElementType::kBool, o[3], {}, 0}; break;
            case spv::OpVariable: vars[o[2]] = types[o[1]].of; break;
            case spv::OpConstant: { uint32_t i = add(o[2], types[o[1]].e, {}, true); Tensor& t = g.tensors[i]; t.data.resize(size_of(t.type)); std::memcpy(t.data.data(), o + 3, t.data.size()); break; }
            case spv::OpConstantTrue: case spv::OpConstantFalse: { uint32_t i = add(o[2], ElementType::kBool, {}, true); g.tensors[i].data = {static_cast<uint8_t>(op == spv::OpConstantTrue)}; break; }
            case spv::OpConstantNull: { const Type& t = types[o[1]]; uint32_t i = add(o[2], t.e, t.shape, true); g.tensors[i].data.resize(static_cast<size_t>(elements(g.tensors[i])) * size_of(t.e)); break; }
            case spv::OpConstantComposite: case 4461: { const Type t = types[o[1]]; uint32_t i = add(o[2], t.e, t.shape, true); Tensor x = g.tensors[i]; const size_t cnt = static_cast<size_t>(elements(x));
                if (op == spv::OpConstantComposite) for (uint32_t k = 3; k < n; ++k) { const auto& d = g.tensors[tensor[o[k]]].data; x.data.insert(x.data.end(), d.begin(), d.end()); }
                else for (size_t k = 0; k < cnt; ++k) { const auto& d = g.tensors[tensor[o[3]]].data; x.data.insert(x.data.end(), d.begin(), d.end()); if (x.data.size() >= cnt * size_of(x.type)) break; }
                g.tensors[i] = x; break; }
            case spv::OpGraphConstantARM: { const Type& t = types[o[1]]; uint32_t i = add(o[2], t.e, t.shape, true); for (const Constant& c : segment.constants) if (c.id == o[3]) { const auto* d = static_cast<const uint8_t*>(c.data); g.tensors[i].data.assign(d, d + program.resources[c.resource].bytes); } break; }
            case spv::OpGraphEntryPointARM: { uint32_t k = 2; while (o[k] & 0xff000000u) ++k; ++k; for (; k < n; ++k) entry.push_back(o[k]); break; }
            case spv::OpGraphInputARM: { const Type& t = types[o[1]]; uint32_t i = add(o[2], t.e, t.shape, false); ins.push_back(i); break; }
            case spv::OpExtInst: { Operator p{o[4], {}, {}}; for (uint32_t k = 5; k < n; ++k) p.operands.push_back(tensor.at(o[k])); const Type& t = types[o[1]];
                if (t.kind == 'r') { std::vector<uint32_t> members; for (uint32_t m : composite[o[1]]) { members.push_back(add(0, types[m].e, types[m].shape, false)); } p.results = members; composite[o[2]] = members; }
                else p.results = {add(o[2], t.e, t.shape, false)};
                g.operators.push_back(p); break; }
            case spv::OpCompositeExtract: tensor[o[2]] = composite[o[3]][o[4]]; break;
            case spv::OpGraphSetOutputARM: outs.push_back(tensor.at(o[1])); break;
            default: break;
        }
        at += n;
    }
    auto resource = [&](uint32_t var) { for (const Binding& b : segment.bindings) if (b.set == sets[var] && b.binding == bindings[var]) return b.resource; throw Error(where + ": unbound"); };
    size_t e = 0;
    for (uint32_t i : ins) g.inputs.push_back({i, resource(entry[e++])});
    for (uint32_t i : outs) g.outputs.push_back({i, resource(entry[e++])});
    return g;
}
}  // namespace arm_runtime::vgf
