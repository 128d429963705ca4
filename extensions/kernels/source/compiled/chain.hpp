// Chains of elementwise ops in one pass over memory: an interpreter of a small code, group by group of values.
//
// A group is eight registers of values, the accumulator. Each instruction works on all of it, alone or with operands that
// lie in slots: inputs, constants, results, and temporaries in the nearest cache. So what follows one after the other never
// leaves the registers, and finding the instruction costs nothing beside eight registers of work. Measured against code
// that goes through blocks of 2048 values in the cache, value by value the same: 0.7 of its time, on 20 sums and products.
//
// Every value goes the same way wherever it stands: results are the same bits for any number of threads.
#pragma once

#include <array>
#include <vector>

#include "storage.hpp"

namespace workbench::compiled {

// What an instruction does with the accumulator `x`, how many operands `a`, `b`, … it reads beside it, and how many numbers
// behind those, which are constants. Truth is 1, and what is not true 0. Those of the first list work on whole numbers too; those of
// the second on real ones, in a few machine instructions as well; those of the third are functions, and each is a call.
#define WORKBENCH_CHAIN_LIGHT(X)                                                                                          \
    X(load, 1, 0) /* x = a */                                                                                             \
    X(store, 1, 0) /* a = x */                                                                                            \
    X(neg, 0, 0) X(abs, 0, 0) X(sign, 0, 0) X(relu, 0, 0) X(add, 1, 0) X(sub, 1, 0) X(reversed_sub, 1, 0) X(mul, 1, 0)    \
    X(maximum, 1, 0) X(minimum, 1, 0) X(eq, 1, 0) X(ne, 1, 0) X(lt, 1, 0) X(le, 1, 0) X(gt, 1, 0) X(ge, 1, 0)             \
    X(clamp, 2, 0) /* between a and b */                                                                                  \
    X(choose, 2, 0) /* x ? a : b */                                                                                       \
    X(keep_where, 2, 0) /* a ? x : b */                                                                                   \
    X(replace_where, 2, 0) /* a ? b : x */
#define WORKBENCH_CHAIN_REAL(X)                                                                                           \
    X(div, 1, 0) X(reversed_div, 1, 0) X(sqrt, 0, 0) X(floor, 0, 0) X(ceil, 0, 0) X(trunc, 0, 0) X(round, 0, 0)           \
    X(prelu, 1, 0) X(multiply_add, 2, 0) X(round_to_bfloat16, 0, 0)                                                       \
    X(drop, 1, 3) /* x times the last number, or times 0 by chance: a is a seed, then come two halves of what is dropped below */
#define WORKBENCH_CHAIN_HEAVY(X)                                                                                          \
    X(exp, 0, 0) X(exp2, 0, 0) X(expm1, 0, 0) X(log, 0, 0) X(log2, 0, 0) X(log10, 0, 0) X(log1p, 0, 0) X(sin, 0, 0)       \
    X(cos, 0, 0) X(pow, 1, 0) X(tanh, 0, 0) X(sigmoid, 0, 0) X(erf, 0, 0) X(ndtr, 0, 0) X(gelu, 0, 0) X(gelu_tanh, 0, 0)  \
    X(silu, 0, 0) X(logsigmoid, 0, 0) X(hardsigmoid, 0, 0) X(hardswish, 0, 0) X(mish, 0, 0)                               \
    X(elu, 0, 3) X(softplus, 0, 2) X(softshrink, 0, 1) X(hardshrink, 0, 1) X(threshold, 0, 2)                             \
    X(relu_gradient, 1, 0) X(tanh_gradient, 1, 0) X(sigmoid_gradient, 1, 0) X(gelu_gradient, 1, 0)                        \
    X(gelu_tanh_gradient, 1, 0) X(silu_gradient, 1, 0) X(between, 1, 2) X(within, 1, 3) X(beyond, 1, 1) X(above, 1, 1)    \
    X(leaky_relu_gradient, 1, 1) X(elu_gradient, 1, 3) X(softplus_gradient, 1, 2) X(logsigmoid_gradient, 1, 0)            \
    X(hardswish_gradient, 1, 0) X(mish_gradient, 1, 0)

#define WORKBENCH_CHAIN_NAME(name, operands, numbers) name,
enum class Operation : int {
    WORKBENCH_CHAIN_LIGHT(WORKBENCH_CHAIN_NAME) WORKBENCH_CHAIN_REAL(WORKBENCH_CHAIN_NAME) WORKBENCH_CHAIN_HEAVY(WORKBENCH_CHAIN_NAME) end
};
#undef WORKBENCH_CHAIN_NAME

struct Instruction {
    Operation operation;
    int slots[4];  // slots are counted through inputs, outputs, constants, temporaries
};

constexpr int group_bytes = 512;    // eight of the widest registers
constexpr int most_slots = 128;     // so that temporaries fit a stack
constexpr int most_dims = 16;

// What a chain is, in plain numbers.
struct ChainCode {
    Storage type;
    std::vector<Storage> inputs, outputs;
    std::vector<double> constants;
    int temporaries = 0;
    std::vector<Instruction> instructions;
};

// How the operands of one run lie: dims from slow to fast, merged where all walk them evenly.
struct ChainPlan {
    std::int64_t count = 0;
    Dims sizes, steps;                  // steps of the first input, then of the second …, in values
    std::vector<unsigned char> whole;   // inputs that lie as the results do, in the type in which is computed
    std::vector<unsigned char> single;  // inputs that are one value
    bool streamed = false;              // results go past the caches
};

// The same for leaves, which use nothing of the standard library.
struct ChainView {
    const Instruction* code;
    Storage type;
    const Storage* types;  // of inputs, then of outputs
    int inputs, outputs, constants, temporaries;
    const char* constant_values;
    int dims;
    const std::int64_t *sizes, *steps;
    const unsigned char *whole, *single;
    const int* seeds;  // inputs that are seeds
    int draws;
    bool streamed;
};

class Chain {
   public:
    // Raises ValueError for code that reads what nobody has written, or slots that are not there.
    explicit Chain(ChainCode code);

    // For inputs of these shapes and strides (in values), stretched to `shape`; results lie without gaps in the order that
    // `result_strides` give.
    ChainPlan plan(const Dims& shape, const Dims& result_strides, const std::vector<Dims>& shapes,
                   const std::vector<Dims>& strides) const;

    // Without Python, and from any thread. The memory of one result may be that of an input that lies as it does and has its type,
    // where there are no other results.
    void run(const ChainPlan& plan, const void* const* inputs, void* const* outputs) const;

    // How large results are at most, none of them NaN, for inputs that are so; infinity where that is not known.
    std::vector<double> bounds(const std::vector<double>& inputs) const;

    const ChainCode& code() const { return code_; }
    // Whether values are dropped by their places, which are counted row by row: results have to lie so.
    bool draws() const { return !seeds_.empty(); }
    bool is_seed(int input) const;

   private:
    ChainCode code_;
    std::vector<int> seeds_;
    std::vector<Storage> types_;
    Buffer<char> constants_;  // each a group long, in the type in which is computed
    std::int64_t grain_ = 0;  // groups that are worth a thread
};

void bind_chain(nb::module_& module);

}  // namespace workbench::compiled
