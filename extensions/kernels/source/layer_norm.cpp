// Layer normalisation: each row of the last dimensions to mean 0 and variance 1, then weighed and shifted.
#include "layer_norm.hpp"

#include <algorithm>
#include <optional>

#define WORKBENCH_LEAVES "leaves/layer_norm.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

struct Rows {
    Dims leading, normalized, statistic;  // the statistics keep the normalized dimensions with size 1
    std::int64_t rows, columns;

    Rows(const Dims& shape, std::int64_t dims) {
        const std::int64_t rank = static_cast<std::int64_t>(shape.size());
        if (dims < 1 || dims > rank)
            refuse("layer_norm over the last " + std::to_string(dims) + " dimensions of shape " + text(shape));
        leading.assign(shape.begin(), shape.end() - dims), normalized.assign(shape.end() - dims, shape.end());
        statistic = leading;
        statistic.resize(shape.size(), 1);
        rows = count_of(leading), columns = count_of(normalized);
        if (columns == 0) refuse("layer_norm of shape " + text(shape) + ": the rows are empty");
    }
};

using Optional = std::optional<Input<float>>;

std::optional<Dense<float>> per_column(const Optional& values, const Rows& size, const char* name) {
    if (!values) return std::nullopt;
    if (shape_of(*values) != size.normalized)
        refuse(std::string("layer_norm ") + name + " has shape " + text(shape_of(*values)) + "; expected " + text(size.normalized));
    return row_major(*values);
}

nb::object layer_norm(const Input<float>& x, const Optional& weight, const Optional& bias, std::int64_t dims, double eps) {
    const Dims shape = shape_of(x);
    const Rows size(shape, dims);
    const auto gain = per_column(weight, size, "weight"), offset = per_column(bias, size, "bias");
    auto y = Output<float>::row_major(shape);
    auto means = Output<float>::row_major(size.statistic), rstds = Output<float>::row_major(size.statistic);
    {
        KernelScope scope;
        const auto input = row_major(x);
        parallel_for(size.rows, grain_for(size.columns * 2), [&](std::int64_t begin, std::int64_t end) {
            LEAF_WIDE(layer_norm_rows)(input.data() + begin * size.columns, end - begin, size.columns,
                                       gain ? gain->data() : nullptr, offset ? offset->data() : nullptr, eps,
                                       y.data() + begin * size.columns, means.data() + begin, rstds.data() + begin);
        });
    }
    return nb::make_tuple(y.to_python(), means.to_python(), rstds.to_python());
}

nb::object layer_norm_gradient(const Input<float>& gradient, const Input<float>& x, const Input<float>& mean,
                               const Input<float>& rstd, const Optional& weight, std::int64_t dims) {
    const Dims shape = shape_of(x);
    const Rows size(shape, dims);
    if (shape_of(gradient) != shape)
        refuse("layer_norm gradient has shape " + text(shape_of(gradient)) + "; expected " + text(shape));
    if (count_of(shape_of(mean)) != size.rows || count_of(shape_of(rstd)) != size.rows)
        refuse("layer_norm mean has shape " + text(shape_of(mean)) + "; expected " + text(size.statistic));
    const auto gain = per_column(weight, size, "weight");
    auto gx = Output<float>::row_major(shape);
    auto gw = Output<float>::row_major(size.normalized), gb = Output<float>::row_major(size.normalized);
    {
        KernelScope scope;
        const auto input = row_major(x), gradients = row_major(gradient), means = row_major(mean), rstds = row_major(rstd);
        const std::int64_t columns = size.columns, parts = part_count(size.rows, grain_for(columns * 2));
        const Buffer<double> totals((parts + 1) * 2 * columns);
        const Buffer<float> blocks((parts + 1) * 2 * columns);
        std::fill_n(totals.data(), (parts + 1) * 2 * columns, 0.0);
        parallel_parts(size.rows, parts, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
            float* block = blocks.data() + part * 2 * columns;
            double* mine = totals.data() + (part + 1) * 2 * columns;
            for (std::int64_t row = begin; row < end; row += 64) {  // sums of 64 floats lose little
                std::fill_n(block, 2 * columns, 0.f);
                LEAF_WIDE(layer_norm_gradient_rows)(gradients.data() + row * columns, input.data() + row * columns,
                                                    std::min<std::int64_t>(64, end - row), columns, means.data() + row,
                                                    rstds.data() + row, gain ? gain->data() : nullptr,
                                                    gx.data() + row * columns, block, block + columns);
                for (std::int64_t c = 0; c < 2 * columns; ++c) mine[c] += static_cast<double>(block[c]);
            }
        });
        for (std::int64_t part = 1; part <= parts; ++part)
            for (std::int64_t c = 0; c < 2 * columns; ++c) totals.data()[c] += totals.data()[part * 2 * columns + c];
        for (std::int64_t c = 0; c < columns; ++c) {
            gw.data()[c] = static_cast<float>(totals.data()[c]);
            gb.data()[c] = static_cast<float>(totals.data()[columns + c]);
        }
    }
    return nb::make_tuple(gx.to_python(), gw.to_python(), gb.to_python());
}

}  // namespace

void bind_layer_norm(nb::module_& module) {
    using nb::arg;
    module.def("layer_norm", &layer_norm, arg("x").noconvert(), arg("weight").noconvert().none() = nb::none(),
               arg("bias").noconvert().none() = nb::none(), nb::kw_only(), arg("count"), arg("eps"));
    module.def("layer_norm_gradient", &layer_norm_gradient, arg("gradient").noconvert(), arg("x").noconvert(),
               arg("mean").noconvert(), arg("rstd").noconvert(), arg("weight").noconvert().none() = nb::none(), nb::kw_only(), arg("count"));
}

}  // namespace workbench
