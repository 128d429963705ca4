// What a chain is made of is checked once, when it is made; a run then follows it without looking.
#include "chain.hpp"

#include "../broadcast.hpp"
#include "../counter_based_random.hpp"
#include "../elementwise.hpp"
#include "../parametric_elementwise.hpp"
#include "../doubles.hpp"

#define WORKBENCH_LEAVES "leaves/chain.inl"
#define WORKBENCH_LEAVES_WIDE
#include "../dispatch.hpp"
#include "../threads.hpp"

#include <algorithm>
#include <numeric>

#include <nanobind/stl/array.h>

namespace workbench::compiled {
namespace {

struct Known {
    const char* name;
    int operands, numbers;
    enum Kind { light, real, heavy } kind;
};
#define WORKBENCH_CHAIN_ENTRY_LIGHT(name, operands, numbers) Known{#name, operands, numbers, Known::light},
#define WORKBENCH_CHAIN_ENTRY_REAL(name, operands, numbers) Known{#name, operands, numbers, Known::real},
#define WORKBENCH_CHAIN_ENTRY_HEAVY(name, operands, numbers) Known{#name, operands, numbers, Known::heavy},
constexpr Known operations[] = {WORKBENCH_CHAIN_LIGHT(WORKBENCH_CHAIN_ENTRY_LIGHT) WORKBENCH_CHAIN_REAL(WORKBENCH_CHAIN_ENTRY_REAL)
                                    WORKBENCH_CHAIN_HEAVY(WORKBENCH_CHAIN_ENTRY_HEAVY)};
static_assert(std::size(operations) == static_cast<std::size_t>(Operation::end));

bool is_codes(Storage type) { return type == Storage::quint8 || type == Storage::qint8; }
bool is_real(Storage type) { return type == Storage::float32 || type == Storage::float64 || type == Storage::bfloat16; }

// Refuses types that a chain computing in `type` cannot take, or give.
void check_types(const ChainCode& code) {
    if (code.type == Storage::boolean || code.type == Storage::bfloat16) refuse("a chain computes in float32, float64, int32 or int64");
    if (is_codes(code.type) || std::any_of(code.inputs.begin(), code.inputs.end(), is_codes) ||
        std::any_of(code.outputs.begin(), code.outputs.end(), is_codes))
        refuse("a chain takes no codes: steps turn them into numbers, and back");
    for (const Storage one : code.inputs)
        if (is_real(one) && !is_real(code.type)) refuse("a chain of whole numbers takes no real ones");
    for (const Storage one : code.outputs)
        if (!is_real(one) && one != Storage::boolean && one != code.type) refuse("a chain gives its own type, real numbers or bool");
}

class Checker {
   public:
    explicit Checker(const ChainCode& code)
        : code_(code), inputs_(static_cast<int>(code.inputs.size())), given_(inputs_ + static_cast<int>(code.outputs.size())),
          fixed_(given_ + static_cast<int>(code.constants.size())), all_(fixed_ + code.temporaries), written_(all_, false) {
        if (code.temporaries < 0 || all_ > most_slots)
            refuse("a chain of " + std::to_string(all_) + " slots: it may have " + std::to_string(most_slots));
        if (code.outputs.empty()) refuse("a chain without results");
        for (int i = 0; i < inputs_; ++i) written_[i] = true;
        for (int i = given_; i < fixed_; ++i) written_[i] = true;
    }
    void check() {
        bool loaded = false;
        for (const Instruction& one : code_.instructions) {
            const int number = static_cast<int>(one.operation);
            if (number < 0 || number >= static_cast<int>(Operation::end)) refuse("instruction " + std::to_string(number) + " is not known");
            const Known& known = operations[number];
            if (known.kind != Known::light && !is_real(code_.type)) refuse(std::string(known.name) + " of whole numbers");
            if (one.operation == Operation::round_to_bfloat16 && code_.type != Storage::float32) refuse("bfloat16 of other than floats");
            loaded = loaded || one.operation == Operation::load;
            if (!loaded) refuse(std::string(known.name) + " before anything is loaded");
            for (int i = 0; i < 4; ++i) check_slot(one, i, known);
            if (one.operation == Operation::drop) check_seed(one.slots[0]);
        }
        for (const int seed : seeds_)
            for (const Instruction& one : code_.instructions)
                for (int i = one.operation == Operation::drop; i < operations[static_cast<int>(one.operation)].operands; ++i)
                    if (one.slots[i] == seed) refuse("a seed is read as a number");
        for (int i = inputs_; i < given_; ++i)
            if (!written_[i]) refuse("result " + std::to_string(i - inputs_) + " is never stored");
    }

    const std::vector<int>& seeds() const { return seeds_; }

   private:
    void check_seed(int slot) {
        if (code_.type != Storage::float32) refuse("only floats are dropped");
        if (slot >= inputs_ || code_.inputs[static_cast<std::size_t>(slot)] != Storage::int64) refuse("a seed is an input of int64");
        if (std::find(seeds_.begin(), seeds_.end(), slot) == seeds_.end()) seeds_.push_back(slot);
    }
    void check_slot(const Instruction& one, int i, const Known& known) {
        const int slot = one.slots[i];
        // What is not used is pointed to all the same.
        if (slot < 0 || slot >= all_) refuse("slot " + std::to_string(slot) + " is not there");
        if (i >= known.operands + known.numbers) return;
        if (i >= known.operands && (slot < given_ || slot >= fixed_)) refuse("a number of " + std::string(known.name) + " is no constant");
        const bool result = slot >= inputs_ && slot < given_;
        if (one.operation == Operation::store) {
            if (slot < inputs_ || (slot >= given_ && slot < fixed_)) refuse("slot " + std::to_string(slot) + " cannot be written");
            written_[slot] = true;
        } else if (result || !written_[slot]) {
            refuse("slot " + std::to_string(slot) + " is read and nothing is there");
        }
    }
    const ChainCode& code_;
    const int inputs_, given_, fixed_, all_;
    std::vector<bool> written_;
    std::vector<int> seeds_;
};

template <typename T>
void fill_constants(const std::vector<double>& values, char* to) {
    constexpr std::size_t each = group_bytes / sizeof(T);
    for (std::size_t i = 0; i < values.size(); ++i) std::fill_n(reinterpret_cast<T*>(to) + i * each, each, static_cast<T>(values[i]));
}

template <typename T>
void run_between(const ChainView& view, const void* const* inputs, void* const* outputs, std::int64_t first, std::int64_t last) {
    LEAF_WIDE(chain_run<T>)(view, inputs, outputs, first, last);
}

}  // namespace

Chain::Chain(ChainCode code) : code_(std::move(code)) {
    check_types(code_);
    Checker checker(code_);
    checker.check();
    seeds_ = checker.seeds();
    std::int64_t work = 4;
    for (const Instruction& one : code_.instructions) work += operations[static_cast<int>(one.operation)].kind == Known::heavy ? 12 : 1;
    // 16 thousand values of little work are worth a thread, or fewer of more.
    const std::int64_t values = std::clamp<std::int64_t>(131072 / work, 2048, 16384);
    grain_ = std::max<std::int64_t>(1, values * static_cast<std::int64_t>(size_of_value(code_.type)) / group_bytes);
    code_.instructions.push_back({Operation::end, {0, 0, 0, 0}});
    types_ = code_.inputs;
    types_.insert(types_.end(), code_.outputs.begin(), code_.outputs.end());
    constants_ = Buffer<char>(std::max<std::int64_t>(1, static_cast<std::int64_t>(code_.constants.size())) * group_bytes);
    switch (code_.type) {
        case Storage::float32: fill_constants<float>(code_.constants, constants_.data()); break;
        case Storage::float64: fill_constants<double>(code_.constants, constants_.data()); break;
        case Storage::int32: fill_constants<std::int32_t>(code_.constants, constants_.data()); break;
        default: fill_constants<std::int64_t>(code_.constants, constants_.data());
    }
}

bool Chain::is_seed(int input) const { return std::find(seeds_.begin(), seeds_.end(), input) != seeds_.end(); }

ChainPlan Chain::plan(const Dims& shape, const Dims& result_strides, const std::vector<Dims>& shapes,
                      const std::vector<Dims>& strides) const {
    const std::size_t inputs = code_.inputs.size();
    if (shapes.size() != inputs || strides.size() != inputs) refuse("a chain of " + std::to_string(inputs) + " inputs is given others");
    std::vector<Dims> stretched;
    for (std::size_t i = 0; i < inputs; ++i) stretched.push_back(stretched_strides(shapes[i], strides[i], shape));
    std::vector<std::size_t> order(shape.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    order.erase(std::remove_if(order.begin(), order.end(), [&](std::size_t i) { return shape[i] == 1; }), order.end());
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return result_strides[a] > result_strides[b]; });

    if (draws() && !lies_as(shape, result_strides, row_major_strides(shape))) refuse("what is dropped by its place lies row by row");
    for (const int seed : seeds_)
        if (count_of(shapes[static_cast<std::size_t>(seed)]) != 1) refuse("a seed is one number");
    ChainPlan plan;
    plan.count = count_of(shape);
    std::vector<Dims> steps(inputs);
    for (const std::size_t dim : order) {
        bool merges = !plan.sizes.empty();
        for (std::size_t i = 0; merges && i < inputs; ++i) merges = steps[i].back() == stretched[i][dim] * shape[dim];
        if (!merges) plan.sizes.push_back(1);
        plan.sizes.back() *= shape[dim];
        for (std::size_t i = 0; i < inputs; ++i) {
            if (!merges) steps[i].push_back(0);
            steps[i].back() = stretched[i][dim];
        }
    }
    if (plan.sizes.empty()) {
        plan.sizes.push_back(1);
        for (Dims& one : steps) one.push_back(0);
    }
    if (plan.sizes.size() > most_dims) refuse("a chain over " + std::to_string(plan.sizes.size()) + " dims that cannot be merged");
    std::int64_t read = 0;
    for (std::size_t i = 0; i < inputs; ++i) {
        bool whole = code_.inputs[i] == code_.type, single = true;
        std::int64_t dense = 1;
        for (std::size_t dim = plan.sizes.size(); dim-- > 0;) {
            whole = whole && (steps[i][dim] == dense || plan.sizes[dim] == 1);
            single = single && (steps[i][dim] == 0 || plan.sizes[dim] == 1);
            dense *= plan.sizes[dim];
        }
        plan.whole.push_back(whole), plan.single.push_back(single);
        plan.steps.insert(plan.steps.end(), steps[i].begin(), steps[i].end());
        if (whole) read += plan.count;
    }
    plan.streamed = outgrows_caches((read + static_cast<std::int64_t>(code_.outputs.size()) * plan.count) *
                                    static_cast<std::int64_t>(size_of_value(code_.type)) / 4);
    return plan;
}

void Chain::run(const ChainPlan& plan, const void* const* inputs, void* const* outputs) const {
    const ChainView view{code_.instructions.data(), code_.type, types_.data(), static_cast<int>(code_.inputs.size()),
                         static_cast<int>(code_.outputs.size()), static_cast<int>(code_.constants.size()), code_.temporaries,
                         constants_.data(), static_cast<int>(plan.sizes.size()), plan.sizes.data(), plan.steps.data(),
                         plan.whole.data(), plan.single.data(), seeds_.data(), static_cast<int>(seeds_.size()), plan.streamed};
    // Threads part at whole groups: what a group computes does not depend on who does.
    const std::int64_t size = group_bytes / static_cast<std::int64_t>(size_of_value(code_.type));
    parallel_for((plan.count + size - 1) / size, grain_, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t first = begin * size, last = std::min(end * size, plan.count);
        switch (code_.type) {
            case Storage::float32: run_between<float>(view, inputs, outputs, first, last); break;
            case Storage::float64: run_between<double>(view, inputs, outputs, first, last); break;
            case Storage::int32: run_between<std::int32_t>(view, inputs, outputs, first, last); break;
            default: run_between<std::int64_t>(view, inputs, outputs, first, last);
        }
    });
}

// ------------------------------------------------------------------------------------------------- from Python

namespace {

Dims broadcast_of(const std::vector<Dims>& shapes) {
    Dims all;
    for (const Dims& shape : shapes) {
        if (shape.size() > all.size()) all.insert(all.begin(), shape.size() - all.size(), 1);
        const std::size_t missing = all.size() - shape.size();
        for (std::size_t i = 0; i < shape.size(); ++i) {
            std::int64_t& size = all[missing + i];
            if (size != shape[i] && size != 1 && shape[i] != 1) refuse("inputs of a chain do not broadcast: " + text(shape) + " and " + text(all));
            if (size == 1) size = shape[i];
        }
    }
    return all;
}

nb::list call(const Chain& chain, const nb::args& arrays) {
    const ChainCode& code = chain.code();
    if (arrays.size() != code.inputs.size())
        refuse("a chain of " + std::to_string(code.inputs.size()) + " inputs is given " + std::to_string(arrays.size()));
    std::vector<AnyArray> kept;
    std::vector<const void*> data;
    std::vector<Dims> shapes, strides;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
        const AnyArray& one = kept.emplace_back(arrays[i], code.inputs[i], "input " + std::to_string(i) + " of a chain");
        data.push_back(one.data()), shapes.push_back(one.shape()), strides.push_back(one.strides());
    }
    const Dims shape = broadcast_of(shapes);
    Dims order = row_major_strides(shape);
    for (std::size_t i = 0; !chain.draws() && i < arrays.size(); ++i)
        if (shapes[i] == shape) {
            order = dense_strides_like(shape, strides[i]);
            break;
        }
    const ChainPlan plan = chain.plan(shape, order, shapes, strides);
    std::vector<Buffer<char>> results;
    std::vector<void*> outputs;
    for (const Storage one : code.outputs) {
        results.emplace_back(std::max<std::int64_t>(1, plan.count * static_cast<std::int64_t>(size_of_value(one))));
        outputs.push_back(results.back().data());
    }
    {
        KernelScope scope;
        chain.run(plan, data.data(), outputs.data());
    }
    nb::list made;
    for (std::size_t i = 0; i < results.size(); ++i)
        with_type(code.outputs[i], [&](auto type) {
            using T = decltype(type);
            made.append(Output<T>(shape, order, Buffer<T>(std::move(results[i]))).to_python());
        });
    return made;
}

}  // namespace

void bind_chain(nb::module_& kernels) {
    using nb::arg;
    nb::module_ module = kernels.def_submodule("compiled", "Graphs as steps on one arena.");
    nb::class_<Chain>(module, "Chain")
        .def("__init__",
             [](Chain* self, const std::string& type, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                const std::vector<double>& constants, int temporaries, const std::vector<std::array<int, 5>>& instructions) {
                 ChainCode code{storage_named(type), {}, {}, constants, temporaries, {}};
                 for (const std::string& one : inputs) code.inputs.push_back(storage_named(one));
                 for (const std::string& one : outputs) code.outputs.push_back(storage_named(one));
                 for (const auto& [number, a, b, c, d] : instructions)
                     code.instructions.push_back({static_cast<Operation>(number), {a, b, c, d}});
                 new (self) Chain(std::move(code));
             },
             arg("type"), arg("inputs"), arg("outputs"), arg("constants"), arg("temporaries"), arg("instructions"))
        .def("__call__", &call, arg("arrays"))
        .def("bounds", &Chain::bounds, arg("inputs"));
    // What there is, by name: its number, how many operands it reads, and how many numbers.
    nb::dict known;
    for (std::size_t i = 0; i < std::size(operations); ++i)
        known[operations[i].name] = nb::make_tuple(static_cast<int>(i), operations[i].operands, operations[i].numbers);
    module.attr("chain_operations") = known;
}

}  // namespace workbench::compiled
