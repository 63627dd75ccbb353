// Makes a plan. An operator that a kernel of its own runs begins a group, which is one dispatch;
// elementwise operators become steps of the program of the group whose result they read.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "../graph/graph.hpp"
#include "../memory_plan.hpp"
#include "plan.hpp"
#include "program_builder.hpp"

namespace arm_runtime::vgf {

/// What a tensor takes: kernels store four elements, or words, at a time.
uint64_t bytes_in_memory(const Tensor& tensor);

/// "i8 [1, 56, 56, 24]"
std::string text_of(const Tensor& tensor);

constexpr uint32_t kNone = ~0U;

/// Numbers of a dispatch that are known only when memory is planned: where a tensor lies.
struct Place {
    uint32_t tensor = 0;
    uint32_t push = 0;           ///< the push constant to which the first element is added
    uint32_t buffer_id = kNone;  ///< the specialization constant that the buffer is; or kNone
    uint32_t unit = 1;           ///< elements that one of the push constant's units is
};

/// A dispatch in the making.
struct Group : KernelCall {
    std::vector<Place> places;
    std::vector<uint32_t> reads;   ///< tensors; LOAD steps' are added
    std::vector<uint32_t> writes;  ///< tensors, by the kernel itself or by STORE steps
    std::vector<Slot> copies;      ///< STORE steps to slots of outputs
    bool has_program = true;
    int64_t elements = 0;               ///< that its program runs on
    int64_t row = 0;                    ///< of kernels/row.comp: elements of a row
    uint32_t elements_per_group = 256;  ///< of a workgroup
    uint64_t workgroups = 0;            ///< 0: from the elements
    ProgramBuilder program;
    std::map<uint32_t, int> values;  ///< of tensors, as its program has them
};

/// What the planner knows of a tensor. A RESHAPE's result is its operand, the root, which has all
/// but what the graph says of the tensor itself: `root`, `maker` and `read_by_kernel`.
struct TensorPlan {
    uint32_t root = 0;
    const Operator* maker = nullptr;
    bool read_by_kernel = false;       ///< by an operator that is not elementwise
    uint32_t consumers = 0;            ///< operators
    const Operator* reader = nullptr;  ///< one of them
    std::vector<uint32_t> outputs;     ///< resources
    bool deferred = false;   ///< the result of a TRANSPOSE or CONCAT that is made when it is needed
    bool of_rows = false;    ///< the result of a reduction that programs on rows compute
    uint32_t depth = 0;      ///< operators of its program, one after the other
    uint32_t group = kNone;  ///< the one that computes it
    bool in_memory = false;
    std::optional<Slot> slot;  ///< its memory, where that is known
};

/// The rows of a program, while its operators are looked at.
struct Rows {
    int64_t length;  ///< 0: it has none
    bool reduced;    ///< whether the operator at hand makes one number for each row
};

class Planner {
  public:
    Planner(Graph& graph, const ResourceSlots& resources, DeviceTraits device, uint64_t work_begin,
            Plan& plan);

    void run();

    // What the functions of anchors.hpp use.

    const Graph& graph() const { return graph_; }
    const DeviceTraits& device() const { return device_; }
    const Operator& op() const { return *op_; }
    const Tensor& operand(size_t index) const { return graph_.operand(*op_, index); }
    const Tensor& result() const { return graph_.result(*op_); }

    /// Begins a group for the operator at hand, whose raw result has the value 0, a second one 1.
    Group& begin(const char* kernel) { return begin(kernel, op_->results); }
    /// The same for a part of the operator, which makes these tensors.
    Group& begin(const char* kernel, const std::vector<uint32_t>& made);
    /// The same where the kernel reads `source` of `source_of` in place of `operand`, which the
    /// group's program computes of it.
    Group& begin_behind(const char* kernel, uint32_t operand, uint32_t source);
    /// The tensor in memory of which an operator's operand is computed element by element, for
    /// nobody else, with scalars alone; or the operand itself.
    uint32_t source_of(uint32_t operand) const;
    /// A tensor of the operator at hand that is not in the graph; references to others become void.
    uint32_t temporary(ElementType type, std::vector<int64_t> shape);
    /// The kernel of `group` reads this operand: its place goes to a push constant, its buffer to
    /// the constant with this id, unless it is kNone.
    void read(Group& group, size_t operand, uint32_t push, uint32_t buffer_id, uint32_t unit = 1) {
        read_tensor(group, op_->operands[operand], push, buffer_id, unit);
    }
    void read_tensor(Group& group, uint32_t read, uint32_t push, uint32_t buffer_id,
                     uint32_t unit = 1);
    /// The kernel of `group`, which has no program, stores the result.
    void write(Group& group, uint32_t push, uint32_t buffer_id, uint32_t unit = 1) {
        write_tensor(group, op_->results[0], push, buffer_id, unit);
    }
    void write_tensor(Group& group, uint32_t tensor, uint32_t push, uint32_t buffer_id,
                      uint32_t unit);
    /// The TRANSPOSE or CONCAT that makes a tensor which nothing has needed yet, or nullptr:
    /// whoever reads it may as well read that one's operands.
    const Operator* deferred(uint32_t tensor) const;
    /// Gives a tensor memory, if it has none yet: some group stores it.
    void need(uint32_t wanted);
    /// Bytes of the constants' buffer, aligned to 16; returns where they begin. Equal bytes are
    /// there once, of the plans for several sizes too.
    uint64_t add_constant(const void* data, size_t bytes);
    uint64_t add_constant(const std::vector<int32_t>& words) {
        return add_constant(words.data(), words.size() * sizeof(int32_t));
    }

  private:
    /// Whether the only reader of what a TRANSPOSE or CONCAT makes can read its operands instead.
    bool is_read_where_it_lies(const Operator& op) const;
    /// Copies an input that an output of the graph shares memory with, before anything is written.
    void save_input(uint32_t tensor, const Slot& slot);
    uint32_t root(uint32_t tensor) const { return tensors_[tensor].root; }
    bool is_elementwise(uint32_t tensor) const;
    /// Whether a program loads it, in place of computing it.
    bool is_stored(uint32_t tensor) const {
        return tensors_[tensor].in_memory || graph_.tensors[tensor].constant;
    }
    /// Whether a program may compute a tensor from others: elementwise, or a reduction of rows.
    bool is_computed(uint32_t tensor) const {
        return is_elementwise(tensor) || tensors_[tensor].of_rows;
    }
    /// Whether `read`, of a size of 1 where `result` has rows, is a value of each row that a
    /// program on rows has at hand.
    bool is_of_row(uint32_t read, const Tensor& result) const;
    bool is_of_row(uint32_t read, const Tensor& result, std::set<uint32_t>& seen) const;
    /// The length of the rows that a program of `tensor` needs; 0: none.
    int64_t row_of(uint32_t tensor) const;
    int64_t row_of(uint32_t tensor, std::set<uint32_t>& seen) const;
    void plan_now(uint32_t tensor);
    /// Stores a value in the graph's outputs that it is.
    void write_outputs(uint32_t tensor);
    Group group_for(uint32_t tensor, int64_t row) const;
    void drop_stores();
    /// The graph's inputs that lie in the work buffer from `begin` on, until their last readers.
    std::vector<Block> inputs_in_work(uint64_t begin) const;
    int64_t elements_of(uint32_t tensor) const { return elements(graph_.tensors[tensor]); }

    /// Gives memory to what the program of `tensor` cannot compute on the way.
    void need_operands(uint32_t tensor, const Rows& rows, std::set<uint32_t>& seen);
    /// Whether an elementwise operator is one step from memory.
    bool is_cheap(uint32_t tensor) const;
    /// The last group that makes something that the program of `tensor` reads; -1: none.
    int last_group(uint32_t tensor, std::set<uint32_t>& seen) const;
    bool compute_in(Group& group, uint32_t tensor);
    int value_of(Group& group, uint32_t tensor);
    int load(Group& group, uint32_t tensor, const std::vector<int64_t>& shape);
    void store(Group& group, uint32_t tensor, int value);
    static bool fits(const Group& group);
    void finish();
    void finish(Group& group, size_t index);
    Slot slot_of(uint32_t tensor) const {
        return tensors_[tensor].slot.value();  // NOLINT(bugprone-unchecked-optional-access)
    }

    Graph& graph_;
    const ResourceSlots& resources_;
    DeviceTraits device_;
    uint64_t work_begin_;
    Plan& plan_;
    const Operator* op_ = nullptr;
    std::vector<Group> groups_;
    std::vector<TensorPlan> tensors_;
};

}  // namespace arm_runtime::vgf
