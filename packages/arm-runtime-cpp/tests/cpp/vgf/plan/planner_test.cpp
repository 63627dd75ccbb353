#include "vgf/plan/planner.hpp"

#include <gtest/gtest.h>
#include <spirv/unified1/TOSA.001000.1.h>

#include <algorithm>
#include <cstring>

#include "vgf/kernels/steps.h"

namespace arm_runtime::vgf {
namespace {

using Shape = std::vector<int64_t>;

/// A graph in the making, its inputs and outputs in resources of their order.
class Builder {
  public:
    uint32_t value(ElementType type, const Shape& shape) {
        graph.tensors.push_back({type, shape, false, {}});
        return static_cast<uint32_t>(graph.tensors.size() - 1);
    }
    uint32_t input(ElementType type, const Shape& shape) {
        const uint32_t tensor = value(type, shape);
        graph.inputs.push_back({tensor, resource(BUFFER_INPUTS)});
        return tensor;
    }
    uint32_t constant(ElementType type, const Shape& shape, const std::vector<int64_t>& numbers) {
        const uint32_t tensor = value(type, shape);
        Tensor& t = graph.tensors[tensor];
        t.constant = true;
        for (const int64_t number : numbers) {
            uint8_t bytes[sizeof(number)];
            std::memcpy(bytes, &number, sizeof(number));
            t.data.insert(t.data.end(), bytes, bytes + size_of(type));
        }
        return tensor;
    }
    uint32_t number(int64_t value) { return constant(ElementType::kInt32, {}, {value}); }
    uint32_t add(uint32_t opcode, std::vector<uint32_t> operands, ElementType type,
                 const Shape& shape) {
        const uint32_t result = value(type, shape);
        graph.operators.push_back({opcode, std::move(operands), {result}});
        return result;
    }
    void output(uint32_t tensor) { graph.outputs.push_back({tensor, resource(BUFFER_OUTPUTS)}); }
    /// In the memory of the first input.
    void output_over_input(uint32_t tensor) {
        graph.outputs.push_back({tensor, graph.inputs[0].resource});
    }
    /// Moves an input to the work buffer.
    void input_in_work(size_t index, uint64_t offset) {
        Slot& slot = slots_[graph.inputs[index].resource];
        slot = {BUFFER_WORK, offset, bytes_in_memory(graph.tensors[graph.inputs[index].tensor])};
    }
    Plan plan() {
        Plan out;
        make_plan(graph, slots_, {}, 0, out);
        return out;
    }

    Graph graph;

  private:
    uint32_t resource(uint32_t buffer) {
        slots_.push_back({buffer, 1U << 20 << slots_.size(), 1U << 20});
        return static_cast<uint32_t>(slots_.size() - 1);
    }

    ResourceSlots slots_;
};

constexpr auto kF32 = ElementType::kFloat32;
constexpr auto kI32 = ElementType::kInt32;

/// x + x, `count` times over.
uint32_t chain(Builder& b, uint32_t x, int count) {
    const Shape shape = b.graph.tensors[x].shape;
    const ElementType type = b.graph.tensors[x].type;
    for (int i = 0; i < count; ++i) x = b.add(TOSAADD, {x, x}, type, shape);
    return x;
}

TEST(Planner, AChainIsOneDispatch) {
    Builder b;
    b.output(chain(b, b.input(kI32, {2, 3, 5}), 5));
    const Plan plan = b.plan();
    ASSERT_EQ(plan.dispatches.size(), 1U);
    EXPECT_STREQ(plan.dispatches[0].kernel, "elementwise");
    EXPECT_EQ(plan.work_bytes, 0U);
    ASSERT_EQ(plan.dispatches[0].writes.size(), 1U);
    EXPECT_EQ(plan.dispatches[0].writes[0].buffer, static_cast<uint32_t>(BUFFER_OUTPUTS));
}

TEST(Planner, AnEndlessChainIsSeveralPrograms) {
    Builder b;
    b.output(chain(b, b.input(kI32, {8}), 20'000));
    EXPECT_GT(b.plan().dispatches.size(), 500U);
}

TEST(Planner, WhatIsReadTwiceIsComputedOnce) {
    Builder b;
    const uint32_t x = b.input(kF32, {64});
    const uint32_t y = b.add(TOSAADD, {x, b.add(TOSAEXP, {x}, kF32, {64})}, kF32, {64});
    b.output(b.add(TOSAMUL, {y, y, b.constant(ElementType::kInt8, {1}, {0})}, kF32, {64}));
    b.output(b.add(TOSASUB, {x, y}, kF32, {64}));
    const Plan plan = b.plan();
    ASSERT_EQ(plan.dispatches.size(), 1U);
    EXPECT_EQ(plan.dispatches[0].text, "0: EXP ADD MUL SUB");
}

TEST(Planner, SoftmaxIsOneProgramOnRows) {
    Builder b;
    const Shape whole{4, 64};
    const Shape reduced{4, 1};
    const uint32_t x = b.input(kF32, whole);
    const uint32_t most = b.add(TOSAREDUCE_MAX, {b.number(1), b.number(1), x}, kF32, reduced);
    const uint32_t e = b.add(TOSAEXP, {b.add(TOSASUB, {x, most}, kF32, whole)}, kF32, whole);
    const uint32_t sum = b.add(TOSAREDUCE_SUM, {b.number(1), e}, kF32, reduced);
    const uint32_t inverse = b.add(TOSARECIPROCAL, {sum}, kF32, reduced);
    b.output(b.add(TOSAMUL, {e, inverse, b.constant(ElementType::kInt8, {1}, {0})}, kF32, whole));
    const Plan plan = b.plan();
    ASSERT_EQ(plan.dispatches.size(), 1U);
    EXPECT_STREQ(plan.dispatches[0].kernel, "row");
    // A row takes 16 threads of 64: four rows are one workgroup.
    EXPECT_EQ(plan.dispatches[0].groups[0], 1U);
    EXPECT_EQ(plan.work_bytes, 0U);
}

TEST(Planner, RowsOfOneProgramHaveOneLength) {
    // x less the sums of its rows of 128, then rows of 64 of that: two kinds of rows, so two
    // programs.
    Builder b;
    const uint32_t x = b.input(kF32, {2, 128});
    const uint32_t wide = b.add(TOSAREDUCE_SUM, {b.number(1), x}, kF32, {2, 1});
    const uint32_t less = b.add(TOSASUB, {x, wide}, kF32, {2, 128});
    const uint32_t shaped = b.add(TOSARESHAPE, {less, b.number(0)}, kF32, {4, 64});
    const uint32_t narrow = b.add(TOSAREDUCE_SUM, {b.number(1), shaped}, kF32, {4, 1});
    b.output(b.add(TOSASUB, {shaped, narrow}, kF32, {4, 64}));
    std::vector<std::string> kernels;
    for (const Dispatch& dispatch : b.plan().dispatches) kernels.emplace_back(dispatch.kernel);
    EXPECT_EQ(kernels, (std::vector<std::string>{"row", "row"}));
}

TEST(Planner, AReductionThatOthersReadIsItsOwn) {
    Builder b;
    const uint32_t x = b.input(kF32, {4, 64});
    const uint32_t sum = b.add(TOSAREDUCE_SUM, {b.number(1), x}, kF32, {4, 1});
    b.output(b.add(TOSARECIPROCAL, {sum}, kF32, {4, 1}));
    const Plan plan = b.plan();
    ASSERT_EQ(plan.dispatches.size(), 1U);
    EXPECT_STREQ(plan.dispatches[0].kernel, "reduce");
}

TEST(Planner, AnOutputThatIsAnInputIsCopied) {
    Builder b;
    const uint32_t x = b.input(kF32, {4, 64});
    b.output(b.add(TOSARESHAPE, {x, b.number(256)}, kF32, {256}));
    const Plan plan = b.plan();
    ASSERT_EQ(plan.dispatches.size(), 1U);
    EXPECT_EQ(plan.dispatches[0].reads[0].buffer, static_cast<uint32_t>(BUFFER_INPUTS));
    EXPECT_EQ(plan.dispatches[0].writes[0].buffer, static_cast<uint32_t>(BUFFER_OUTPUTS));
}

TEST(Planner, AValueOfTwoOutputsIsStoredTwice) {
    Builder b;
    const uint32_t y = chain(b, b.input(kI32, {8}), 1);
    b.output(y);
    b.output(y);
    const Plan plan = b.plan();
    ASSERT_EQ(plan.dispatches.size(), 1U);
    EXPECT_EQ(plan.dispatches[0].text, "0: ADD -> output -> output");
    ASSERT_EQ(plan.dispatches[0].writes.size(), 2U) << "the outputs, and no other memory";
    EXPECT_FALSE(overlap(plan.dispatches[0].writes[0], plan.dispatches[0].writes[1]));
    EXPECT_EQ(plan.work_bytes, 0U);
}

TEST(Planner, AnInputUnderAnOutputIsSavedFirst) {
    Builder b;
    const uint32_t x = b.input(kI32, {8});
    b.output_over_input(chain(b, x, 1));
    b.output(b.add(TOSASUB, {x, b.input(kI32, {8})}, kI32, {8}));
    const Plan plan = b.plan();
    ASSERT_GE(plan.dispatches.size(), 2U);
    EXPECT_EQ(plan.dispatches[0].text.substr(0, 8), "0: input");
    for (size_t i = 1; i < plan.dispatches.size(); ++i) {
        for (const Slot& slot : plan.dispatches[i].reads) {
            EXPECT_FALSE(overlap(slot, plan.dispatches[0].reads[0]))
                << "dispatch " << i << " reads memory that an output may have overwritten";
        }
    }
}

TEST(Planner, AConstantIsInMemoryOnceHoweverManyReadIt) {
    Builder b;
    const uint32_t x = b.input(kI32, {4});
    const uint32_t c = b.constant(kI32, {4}, {1, 2, 3, 4});
    b.output(b.add(TOSAADD, {x, c}, kI32, {4}));
    b.output(b.add(TOSASUB, {x, c}, kI32, {4}));
    const Plan plan = b.plan();
    const int32_t wanted[] = {1, 2, 3, 4};
    int found = 0;
    for (size_t at = 0; at + sizeof(wanted) <= plan.constants.size(); at += 16) {
        found += std::memcmp(&plan.constants[at], wanted, sizeof(wanted)) == 0 ? 1 : 0;
    }
    EXPECT_EQ(found, 1) << "copies of the constant";
}

TEST(Planner, ProgramsCallNoMoreThanTheySay) {
    // The modules of two programs differ by their steps, and hold no step that they do not call.
    Builder small;
    small.output(chain(small, small.input(kI32, {8}), 1));
    Builder large;
    const uint32_t x = large.input(kF32, {8});
    large.output(large.add(TOSAERF, {large.add(TOSASIN, {x}, kF32, {8})}, kF32, {8}));
    EXPECT_LT(small.plan().dispatches[0].spirv->size(), large.plan().dispatches[0].spirv->size());
    EXPECT_LT(large.plan().dispatches[0].spirv->size(),
              find_kernel("elementwise", false).count / 2);
}

/// A convolution of 3x3 of two pictures, of 8 and 12 channels.
uint32_t convolution_of_two(Builder& b, uint32_t whole) {
    const auto kI8 = ElementType::kInt8;
    const std::vector<int64_t> weights(size_t{4} * 9 * 20, 1);
    return b.add(
        TOSACONV2D,
        {b.constant(kI32, {4}, {1, 1, 1, 1}), b.constant(kI32, {2}, {1, 1}),
         b.constant(kI32, {2}, {1, 1}), b.number(1), b.constant(ElementType::kBool, {}, {0}), whole,
         b.constant(kI8, {4, 3, 3, 20}, weights), b.constant(kI32, {1}, {0}),
         b.constant(kI8, {1}, {0}), b.constant(kI8, {1}, {0})},
        kI32, {1, 6, 5, 4});
}

uint32_t concat_of_two(Builder& b) {
    const auto kI8 = ElementType::kInt8;
    const uint32_t x = b.input(kI8, {1, 6, 5, 8});
    return b.add(TOSACONCAT, {b.number(3), x, b.input(kI8, {1, 6, 5, 12})}, kI8, {1, 6, 5, 20});
}

TEST(Planner, AConvolutionReadsConcatenatedPicturesWhereTheyLie) {
    Builder b;
    b.output(convolution_of_two(b, concat_of_two(b)));
    const Plan plan = b.plan();
    ASSERT_EQ(plan.dispatches.size(), 1U);
    const std::vector<Slot>& reads = plan.dispatches[0].reads;
    ASSERT_EQ(reads.size(), 2U);
    EXPECT_FALSE(overlap(reads[0], reads[1]));
    EXPECT_EQ(plan.work_bytes, 0U);
}

TEST(Planner, ConcatenatedPicturesThatOthersReadAreMade) {
    Builder b;
    const uint32_t whole = concat_of_two(b);
    b.output(convolution_of_two(b, whole));
    b.output(whole);
    const Plan plan = b.plan();
    EXPECT_EQ(std::count_if(plan.dispatches.begin(), plan.dispatches.end(),
                            [](const Dispatch& d) { return std::string(d.kernel) == "copy"; }),
              2);
}

TEST(Planner, InputsInTheWorkBufferGiveTheirMemoryToWhatFollows) {
    const Shape shape{1, 64, 64, 8};
    const uint64_t bytes = uint64_t{4} * 64 * 64 * 8;
    for (const bool read_late : {false, true}) {
        Builder b;
        uint32_t x = b.input(kF32, shape);
        const uint32_t given = x;
        // Four copies, one after the other.
        for (int i = 0; i < 4; ++i) x = b.add(TOSAREVERSE, {b.number(1), x}, kF32, shape);
        b.output(read_late ? b.add(TOSAADD, {x, given}, kF32, shape) : x);
        b.input_in_work(0, 0);
        const Plan plan = b.plan();
        EXPECT_EQ(plan.work_bytes, read_late ? 3 * bytes : 2 * bytes);
        for (size_t i = 0; i < plan.dispatches.size(); ++i) {
            const Slot& last = plan.dispatches[i].writes[0];
            EXPECT_FALSE(overlap(last, plan.dispatches[i].reads[0])) << i;
            EXPECT_FALSE(read_late && overlap(last, {BUFFER_WORK, 0, bytes})) << i;
        }
    }
}

TEST(Planner, TensorsBeyondTwoGigabytesAreRefused) {
    Builder b;
    const uint32_t x = b.input(ElementType::kInt8, {1, int64_t{1} << 31});
    const uint32_t y = chain(b, x, 1);
    b.output(b.add(TOSATRANSPOSE, {b.constant(kI32, {2}, {1, 0}), y}, ElementType::kInt8,
                   {int64_t{1} << 31, 1}));
    EXPECT_THROW(b.plan(), Error);
}

}  // namespace
}  // namespace arm_runtime::vgf
