// Layer normalisation: each row of the last dimensions to mean 0 and variance 1, then weighed and shifted; and what scales
// rows only, by their root mean square.
#include "layer_norm.hpp"

#include <algorithm>
#include <optional>

#define WORKBENCH_LEAVES "leaves/layer_norm.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {

template <typename T>
void normalise_rows(const T* x, std::int64_t rows, std::int64_t columns, const T* weight, const T* bias, double eps, T* y, T* means,
                    T* rstds) {
    parallel_for(rows, grain_for(columns * 2), [&](std::int64_t begin, std::int64_t end) {
        LEAF_WIDE(layer_norm_rows<T>)(x + begin * columns, end - begin, columns, weight, bias, eps, y + begin * columns,
                                      means ? means + begin : nullptr, rstds + begin);
    });
}

template <typename T>
void normalise_rows_gradient(const T* gradient, const T* x, std::int64_t rows, std::int64_t columns, const T* means, const T* rstds,
                             const T* weight, T* gx, T* gw, T* gb) {
    const std::int64_t sums = (means ? 2 : 1) * columns;
    const std::int64_t parts = fixed_part_count(rows, grain_for(columns * 2));
    const Buffer<double> totals((parts + 1) * sums);
    const Buffer<T> blocks((parts + 1) * sums);
    std::fill_n(totals.data(), sums, 0.0);
    parallel_parts(rows, parts, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
        T* block = blocks.data() + part * sums;
        double* mine = totals.data() + (part + 1) * sums;
        std::fill_n(mine, sums, 0.0);
        for (std::int64_t row = begin; row < end; row += 64) {  // sums of 64 lose little
            std::fill_n(block, sums, T{0});
            LEAF_WIDE(layer_norm_gradient_rows<T>)(gradient + row * columns, x + row * columns, std::min<std::int64_t>(64, end - row),
                                                   columns, means ? means + row : nullptr, rstds + row, weight, gx + row * columns,
                                                   block, means ? block + columns : nullptr);
            for (std::int64_t c = 0; c < sums; ++c) mine[c] += static_cast<double>(block[c]);
        }
    });
    for (std::int64_t part = 1; part <= parts; ++part)
        for (std::int64_t c = 0; c < sums; ++c) totals.data()[c] += totals.data()[part * sums + c];
    for (std::int64_t c = 0; c < columns; ++c) gw[c] = static_cast<T>(totals.data()[c]);
    for (std::int64_t c = columns; c < sums; ++c) gb[c - columns] = static_cast<T>(totals.data()[c]);
}

template void normalise_rows<float>(const float*, std::int64_t, std::int64_t, const float*, const float*, double, float*, float*, float*);
template void normalise_rows_gradient<float>(const float*, const float*, std::int64_t, std::int64_t, const float*, const float*,
                                             const float*, float*, float*, float*);

namespace {

struct Rows {
    const char* name;
    Dims shape, leading, normalized, statistic;  // the statistics keep the normalized dimensions with size 1
    std::int64_t rows, columns;

    Rows(const char* name, const Dims& shape, std::int64_t dims) : name(name), shape(shape) {
        const std::int64_t rank = static_cast<std::int64_t>(shape.size());
        if (dims < 1 || dims > rank)
            refuse(std::string(name) + " over the last " + std::to_string(dims) + " dimensions of shape " + text(shape));
        leading.assign(shape.begin(), shape.end() - dims), normalized.assign(shape.end() - dims, shape.end());
        statistic = leading;
        statistic.resize(shape.size(), 1);
        rows = count_of(leading), columns = count_of(normalized);
        if (columns == 0) refuse(std::string(name) + " of shape " + text(shape) + ": the rows are empty");
    }
    void expect(const char* what, const Dims& found, const Dims& expected) const {
        if (found != expected)
            refuse(std::string(name) + " " + what + " has shape " + text(found) + "; expected " + text(expected));
    }
};

template <typename T>
using Optional = std::optional<Input<T>>;

template <typename T>
std::optional<Dense<T>> per_column(const Optional<T>& values, const Rows& size, const char* what) {
    if (!values) return std::nullopt;
    size.expect(what, shape_of(*values), size.normalized);
    return row_major(*values);
}

// Writes y and the statistics; without room for means, rows are scaled only.
template <typename T>
void normalise(const Rows& size, const Input<T>& x, const Optional<T>& weight, const Optional<T>& bias, double eps, T* y,
               T* means, T* rstds) {
    const auto gain = per_column<T>(weight, size, "weight"), offset = per_column<T>(bias, size, "bias");
    KernelScope scope;
    const auto input = row_major(x);
    normalise_rows<T>(input.data(), size.rows, size.columns, gain ? gain->data() : nullptr, offset ? offset->data() : nullptr, eps, y,
                      means, rstds);
}

template <typename T>
nb::object layer_norm(const Input<T>& x, const Optional<T>& weight, const Optional<T>& bias, std::int64_t dims, double eps) {
    const Rows size("layer_norm", shape_of(x), dims);
    auto y = Output<T>::row_major(size.shape);
    auto means = Output<T>::row_major(size.statistic), rstds = Output<T>::row_major(size.statistic);
    normalise<T>(size, x, weight, bias, eps, y.data(), means.data(), rstds.data());
    return nb::make_tuple(y.to_python(), means.to_python(), rstds.to_python());
}

template <typename T>
nb::object rms_norm(const Input<T>& x, const Optional<T>& weight, std::int64_t dims, double eps) {
    const Rows size("rms_norm", shape_of(x), dims);
    auto y = Output<T>::row_major(size.shape), rstds = Output<T>::row_major(size.statistic);
    normalise<T>(size, x, weight, std::nullopt, eps, y.data(), nullptr, rstds.data());
    return nb::make_tuple(y.to_python(), rstds.to_python());
}

template <typename T>
void normalise_gradient(const Rows& size, const Input<T>& gradient, const Input<T>& x, const Optional<T>& mean,
                        const Input<T>& rstd, const Optional<T>& weight, T* gx, T* gw, T* gb) {
    size.expect("gradient", shape_of(gradient), size.shape);
    for (const Input<T>* statistic : {mean ? &*mean : &rstd, &rstd})
        if (count_of(shape_of(*statistic)) != size.rows) size.expect("statistic", shape_of(*statistic), size.statistic);
    const auto gain = per_column<T>(weight, size, "weight");
    KernelScope scope;
    const auto input = row_major(x), gradients = row_major(gradient), rstds = row_major(rstd);
    std::optional<Dense<T>> means;
    if (mean) means.emplace(row_major(*mean));
    normalise_rows_gradient<T>(gradients.data(), input.data(), size.rows, size.columns, means ? means->data() : nullptr, rstds.data(),
                               gain ? gain->data() : nullptr, gx, gw, gb);
}

template <typename T>
nb::object layer_norm_gradient(const Input<T>& gradient, const Input<T>& x, const Input<T>& mean,
                               const Input<T>& rstd, const Optional<T>& weight, std::int64_t dims) {
    const Rows size("layer_norm", shape_of(x), dims);
    auto gx = Output<T>::row_major(size.shape);
    auto gw = Output<T>::row_major(size.normalized), gb = Output<T>::row_major(size.normalized);
    normalise_gradient<T>(size, gradient, x, mean, rstd, weight, gx.data(), gw.data(), gb.data());
    return nb::make_tuple(gx.to_python(), gw.to_python(), gb.to_python());
}

template <typename T>
nb::object rms_norm_gradient(const Input<T>& gradient, const Input<T>& x, const Input<T>& rstd,
                             const Optional<T>& weight, std::int64_t dims) {
    const Rows size("rms_norm", shape_of(x), dims);
    auto gx = Output<T>::row_major(size.shape), gw = Output<T>::row_major(size.normalized);
    normalise_gradient<T>(size, gradient, x, std::nullopt, rstd, weight, gx.data(), gw.data(), nullptr);
    return nb::make_tuple(gx.to_python(), gw.to_python());
}

template <typename T>
void bind_alike(nb::module_& module) {
    using nb::arg;
    module.def("layer_norm", &layer_norm<T>, arg("x").noconvert(), arg("weight").noconvert().none() = nb::none(),
               arg("bias").noconvert().none() = nb::none(), nb::kw_only(), arg("count"), arg("eps"));
    module.def("layer_norm_gradient", &layer_norm_gradient<T>, arg("gradient").noconvert(), arg("x").noconvert(),
               arg("mean").noconvert(), arg("rstd").noconvert(), arg("weight").noconvert().none() = nb::none(), nb::kw_only(), arg("count"));
    module.def("rms_norm", &rms_norm<T>, arg("x").noconvert(), arg("weight").noconvert().none() = nb::none(), nb::kw_only(),
               arg("count"), arg("eps"));
    module.def("rms_norm_gradient", &rms_norm_gradient<T>, arg("gradient").noconvert(), arg("x").noconvert(),
               arg("rstd").noconvert(), arg("weight").noconvert().none() = nb::none(), nb::kw_only(), arg("count"));
}

}  // namespace

void layer_norm_of_rows(const float* x, std::int64_t rows, std::int64_t columns, const float* weight, const float* bias, double eps,
                        float* y, float* means, float* rstds) {
    LEAF_WIDE(layer_norm_rows<float>)(x, rows, columns, weight, bias, eps, y, means, rstds);
}
void layer_norm_of_rows(const double* x, std::int64_t rows, std::int64_t columns, const double* weight, const double* bias, double eps,
                        double* y, double* means, double* rstds) {
    LEAF_WIDE(layer_norm_rows<double>)(x, rows, columns, weight, bias, eps, y, means, rstds);
}

void bind_layer_norm(nb::module_& module) {
    bind_alike<float>(module);
    bind_alike<double>(module);
}

}  // namespace workbench
