// What NumPy computes one double at a time, or in several passes: functions, and the gates of recurrent layers.
#include "doubles.hpp"

#include <algorithm>
#include <string>
#include <utility>

#define WORKBENCH_LEAVES "leaves/doubles.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

nb::object function_of(const Input<double>& x, DoubleFunction kind) {
    const Dims shape = shape_of(x);
    const Dims order = dense_strides_like(shape, strides_of(x));
    Output<double> out(shape, order);
    {
        KernelScope scope;
        const Dense<double> input(x, order);
        parallel_for(count_of(shape), 16384, [&](std::int64_t begin, std::int64_t end) {
            LEAF_WIDE(double_run)(kind, input.data() + begin, end - begin, out.data() + begin);
        });
    }
    return out.to_python();
}

nb::object softplus(const Input<double>& x, double beta, double threshold) {
    const Dims shape = shape_of(x);
    const Dims order = dense_strides_like(shape, strides_of(x));
    Output<double> out(shape, order);
    {
        KernelScope scope;
        const Dense<double> input(x, order);
        parallel_for(count_of(shape), 4096, [&](std::int64_t begin, std::int64_t end) {
            LEAF_WIDE(softplus_run)(input.data() + begin, beta, threshold, end - begin, out.data() + begin);
        });
    }
    return out.to_python();
}

nb::object softplus_gradient(const Input<double>& g, const Input<double>& x, double beta, double threshold) {
    const Dims shape = shape_of(x);
    if (shape_of(g) != shape) refuse("a gradient of " + text(shape_of(g)) + " for an operand of " + text(shape));
    const Dims order = dense_strides_like(shape, strides_of(x));
    Output<double> out(shape, order);
    {
        KernelScope scope;
        const Dense<double> gradient(g, order), input(x, order);
        parallel_for(count_of(shape), 4096, [&](std::int64_t begin, std::int64_t end) {
            LEAF_WIDE(softplus_gradient_run)(gradient.data() + begin, input.data() + begin, beta, threshold, end - begin, out.data() + begin);
        });
    }
    return out.to_python();
}

// Refuses arrays that are not `rows` rows of as many times `size` values as `widths` says.
template <typename... Arrays>
void expect_rows(std::int64_t rows, std::int64_t size, std::initializer_list<int> widths, const Arrays&... arrays) {
    const int* width = widths.begin();
    const auto check = [&](const Dims& shape) {
        const Dims wanted{rows, *width++ * size};
        if (shape != wanted) refuse("gates: an array has shape " + text(shape) + "; expected " + text(wanted));
    };
    (check(shape_of(arrays)), ...);
}

// Rows below which threads cost more than they save. A cell's step stands between products on the threads of BLAS: what is
// shared out has to wait for these, and on a busy machine for the operating system.
std::int64_t rows_for(std::int64_t size) { return std::max<std::int64_t>(1, 32768 / std::max<std::int64_t>(1, size)); }

void lstm_gates(const Plain<double>& sums, const Plain<double>& memory, const Target<double>& gates, const Target<double>& cells,
                const Target<double>& out) {
    const std::int64_t rows = shape_of(memory).at(0), size = shape_of(memory).at(1);
    expect_rows(rows, size, {4, 1, 4, 1, 1}, sums, memory, gates, cells, out);
    KernelScope scope;
    parallel_for(rows, rows_for(size), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row)
            LEAF_WIDE(lstm_gates_row)(sums.data() + row * 4 * size, memory.data() + row * size, size,
                                      gates.data() + row * 4 * size, cells.data() + row * size, out.data() + row * size);
    });
}

void lstm_gates_back(const Plain<double>& d, const Plain<double>& d_memory, const Plain<double>& before,
                     const Plain<double>& cells, const Plain<double>& gates, const Target<double>& d_sums,
                     const Target<double>& d_before) {
    const std::int64_t rows = shape_of(before).at(0), size = shape_of(before).at(1);
    expect_rows(rows, size, {1, 1, 1, 1, 4, 4, 1}, d, d_memory, before, cells, gates, d_sums, d_before);
    KernelScope scope;
    parallel_for(rows, rows_for(size), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row)
            LEAF_WIDE(lstm_gates_back_row)(d.data() + row * size, d_memory.data() + row * size, before.data() + row * size,
                                           cells.data() + row * size, gates.data() + row * 4 * size, size,
                                           d_sums.data() + row * 4 * size, d_before.data() + row * size);
    });
}

void gru_gates(const Plain<double>& pre, const Plain<double>& own, const Plain<double>& before, const Target<double>& gates,
               const Target<double>& out) {
    const std::int64_t rows = shape_of(before).at(0), size = shape_of(before).at(1);
    expect_rows(rows, size, {3, 3, 1, 3, 1}, pre, own, before, gates, out);
    KernelScope scope;
    parallel_for(rows, rows_for(size), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row)
            LEAF_WIDE(gru_gates_row)(pre.data() + row * 3 * size, own.data() + row * 3 * size, before.data() + row * size, size,
                                     gates.data() + row * 3 * size, out.data() + row * size);
    });
}

void gru_gates_back(const Plain<double>& d, const Plain<double>& before, const Plain<double>& gates, const Plain<double>& inner,
                    const Target<double>& d_pre, const Target<double>& d_own, const Target<double>& carry) {
    const std::int64_t rows = shape_of(before).at(0), size = shape_of(before).at(1);
    expect_rows(rows, size, {1, 1, 3, 1, 3, 3, 1}, d, before, gates, inner, d_pre, d_own, carry);
    KernelScope scope;
    parallel_for(rows, rows_for(size), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row)
            LEAF_WIDE(gru_gates_back_row)(d.data() + row * size, before.data() + row * size, gates.data() + row * 3 * size,
                                          inner.data() + row * size, size, d_pre.data() + row * 3 * size,
                                          d_own.data() + row * 3 * size, carry.data() + row * size);
    });
}

}  // namespace

void sigmoid_of(const double* x, std::int64_t count, double* out) { LEAF_WIDE(double_run)(DoubleFunction::sigmoid, x, count, out); }
void softplus_of(const double* x, double beta, double threshold, std::int64_t count, double* out) {
    LEAF_WIDE(softplus_run)(x, beta, threshold, count, out);
}

void bind_doubles(nb::module_& module) {
    using nb::arg;
    static constexpr std::pair<const char*, DoubleFunction> functions[] = {
        {"sin", DoubleFunction::sin}, {"cos", DoubleFunction::cos}, {"sigmoid", DoubleFunction::sigmoid},
        {"relu", DoubleFunction::relu}};
    for (const auto& [name, kind] : functions)
        module.def(
            name, [kind = kind](const Input<double>& x) { return function_of(x, kind); }, arg("x").noconvert());
    module.def("softplus", &softplus, arg("x").noconvert(), arg("p"), arg("q"));
    module.def("softplus_gradient", &softplus_gradient, arg("g").noconvert(), arg("x").noconvert(), arg("p"), arg("q"));
    module.def("lstm_gates", &lstm_gates, arg("sums").noconvert(), arg("memory").noconvert(), arg("gates").noconvert(),
               arg("cells").noconvert(), arg("out").noconvert());
    module.def("lstm_gates_back", &lstm_gates_back, arg("d").noconvert(), arg("d_memory").noconvert(),
               arg("before").noconvert(), arg("cells").noconvert(), arg("gates").noconvert(), arg("d_sums").noconvert(),
               arg("d_before").noconvert());
    module.def("gru_gates", &gru_gates, arg("pre").noconvert(), arg("own").noconvert(), arg("before").noconvert(),
               arg("gates").noconvert(), arg("out").noconvert());
    module.def("gru_gates_back", &gru_gates_back, arg("d").noconvert(), arg("before").noconvert(), arg("gates").noconvert(),
               arg("inner").noconvert(), arg("d_pre").noconvert(), arg("d_own").noconvert(), arg("carry").noconvert());
}

}  // namespace workbench
