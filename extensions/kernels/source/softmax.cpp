// Softmax, its logarithm and their gradients along any dimension of float32.
#include "softmax.hpp"

#include <algorithm>

#define WORKBENCH_LEAVES "leaves/softmax.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

// A dense array seen as [outer, rows, columns]: each of outer x columns is one softmax over `rows` values.
struct Slices {
    std::int64_t outer = 1, rows = 1, columns = 1;

    Slices(const Dims& shape, std::int64_t dim, const char* name) {
        const std::int64_t rank = static_cast<std::int64_t>(shape.size());
        const std::int64_t at = dim < 0 ? dim + rank : dim;
        if (at < 0 || at >= rank) refuse(std::string(name) + " over dim " + std::to_string(dim) + " of shape " + text(shape));
        count_of(shape);
        for (std::int64_t i = 0; i < rank; ++i)
            (i < at ? outer : i == at ? rows : columns) *= shape[static_cast<std::size_t>(i)];
        if (rows == 0) refuse(std::string(name) + " of shape " + text(shape) + ": the dimension must not be empty");
    }
    // Columns that are worked on together: they fit the second-level cache with all their rows, and the leaf's buffers.
    std::int64_t block() const { return std::clamp<std::int64_t>((65536 / rows) / 16 * 16, 16, 1024); }
    std::int64_t blocks() const { return (columns + block() - 1) / block(); }
};

template <typename Rows, typename Columns>
void over_slices(const Slices& slices, std::int64_t weight, Rows&& by_rows, Columns&& by_columns) {
    if (slices.columns == 1) {
        parallel_for(slices.outer, grain_for(slices.rows * weight), by_rows);
        return;
    }
    const std::int64_t blocks = slices.blocks(), block = slices.block();
    parallel_for(slices.outer * blocks, grain_for(slices.rows * std::min(block, slices.columns) * weight),
                 [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t task = begin; task < end; ++task) {
                         const std::int64_t first = task % blocks * block;
                         by_columns(task / blocks * slices.rows * slices.columns + first,
                                    std::min(block, slices.columns - first));
                     }
                 });
}

nb::object softmax(const Input<float>& x, std::int64_t dim, bool logarithm) {
    const Dims shape = shape_of(x);
    const Slices slices(shape, dim, "softmax");
    auto out = Output<float>::row_major(shape);
    {
        KernelScope scope;
        const auto input = row_major(x);
        const float* from = input.data();
        over_slices(
            slices, 4,
            [&](std::int64_t begin, std::int64_t end) {
                LEAF_WIDE(softmax_rows)(from + begin * slices.rows, end - begin, slices.rows, logarithm,
                                        out.data() + begin * slices.rows);
            },
            [&](std::int64_t at, std::int64_t columns) {
                LEAF_WIDE(softmax_columns)(from + at, slices.rows, columns, slices.columns, logarithm, out.data() + at);
            });
    }
    return out.to_python();
}

nb::object softmax_gradient(const Input<float>& gradient, const Input<float>& y, std::int64_t dim, bool logarithm) {
    const Dims shape = shape_of(y);
    const Slices slices(shape, dim, "softmax gradient");
    if (shape_of(gradient) != shape)
        refuse("softmax gradient has shape " + text(shape_of(gradient)) + "; expected " + text(shape));
    auto out = Output<float>::row_major(shape);
    {
        KernelScope scope;
        const auto gradients = row_major(gradient);
        const auto outputs = row_major(y);
        over_slices(
            slices, 2,
            [&](std::int64_t begin, std::int64_t end) {
                const std::int64_t at = begin * slices.rows;
                LEAF_WIDE(softmax_gradient_rows)(gradients.data() + at, outputs.data() + at, end - begin, slices.rows,
                                                 logarithm, out.data() + at);
            },
            [&](std::int64_t at, std::int64_t columns) {
                LEAF_WIDE(softmax_gradient_columns)(gradients.data() + at, outputs.data() + at, slices.rows, columns,
                                                    slices.columns, logarithm, out.data() + at);
            });
    }
    return out.to_python();
}

using Classes = Operand<std::int64_t, nb::ndim<1>>;

// Scores [N, C] and a class for each; counts those that are not ignored, and refuses classes that there are not.
struct Scores {
    std::int64_t rows, columns, counted = 0;
    Dense<std::int64_t> targets;

    Scores(const Dims& shape, const Classes& classes, std::int64_t ignored)
        : rows(shape.size() == 2 ? shape[0] : 0), columns(shape.size() == 2 ? shape[1] : 0),
          targets(Input<std::int64_t>(classes), {1}) {
        if (shape.size() != 2 || columns == 0 || static_cast<std::int64_t>(classes.shape(0)) != rows)
            refuse("cross_entropy of scores " + text(shape) + " and " + std::to_string(classes.shape(0)) + " classes");
        for (std::int64_t row = 0; row < rows; ++row) {
            const std::int64_t target = targets.data()[row];
            if (target == ignored) continue;
            if (target < 0 || target >= columns) throw nb::index_error(std::to_string(target).c_str());
            ++counted;
        }
    }
};

nb::object cross_entropy(const Input<float>& x, const Classes& target, const std::string& reduction, std::int64_t ignored) {
    const Dims shape = shape_of(x);
    const Scores scores(shape, target, ignored);
    const bool each = reduction == "none";
    auto losses = Output<float>::row_major({scores.rows});
    auto total = Output<float>::row_major({});
    {
        KernelScope scope;
        const auto input = row_major(x);
        parallel_for(scores.rows, grain_for(scores.columns * 4), [&](std::int64_t begin, std::int64_t end) {
            LEAF_WIDE(cross_entropy_rows)(input.data() + begin * scores.columns, end - begin, scores.columns,
                                          scores.targets.data() + begin, ignored, losses.data() + begin);
        });
        double sum = 0;
        for (std::int64_t row = 0; row < scores.rows; ++row) sum += static_cast<double>(losses.data()[row]);
        *total.data() = static_cast<float>(reduction == "mean" ? sum / static_cast<double>(scores.counted) : sum);
    }
    return each ? losses.to_python() : total.to_python();
}

nb::object cross_entropy_gradient(const Input<float>& gradient, const Input<float>& x, const Classes& target,
                                  const std::string& reduction, std::int64_t ignored) {
    const Dims shape = shape_of(x);
    const Scores scores(shape, target, ignored);
    const bool each = reduction == "none";
    if (shape_of(gradient) != (each ? Dims{scores.rows} : Dims{}))
        refuse("cross_entropy gradient has shape " + text(shape_of(gradient)) + " for scores " + text(shape));
    auto gx = Output<float>::row_major(shape);
    {
        KernelScope scope;
        const auto input = row_major(x);
        const std::int64_t step = each ? gradient.stride(0) : 0;
        const float share = reduction == "mean" ? static_cast<float>(1.0 / static_cast<double>(scores.counted)) : 1.f;
        parallel_for(scores.rows, grain_for(scores.columns * 4), [&](std::int64_t begin, std::int64_t end) {
            LEAF_WIDE(cross_entropy_gradient_rows)(input.data() + begin * scores.columns, end - begin, scores.columns,
                                                   scores.targets.data() + begin, ignored, gradient.data() + begin * step, step,
                                                   share, gx.data() + begin * scores.columns);
        });
    }
    return gx.to_python();
}

}  // namespace

void bind_softmax(nb::module_& module) {
    using nb::arg;
    module.def("softmax", &softmax, arg("x").noconvert(), nb::kw_only(), arg("dim") = -1, arg("logarithm") = false);
    module.def("softmax_gradient", &softmax_gradient, arg("gradient").noconvert(), arg("y").noconvert(), nb::kw_only(),
               arg("dim") = -1, arg("logarithm") = false);
    module.def("cross_entropy", &cross_entropy, arg("x").noconvert(), arg("target").noconvert(), nb::kw_only(), arg("reduction"),
               arg("ignore_index"));
    module.def("cross_entropy_gradient", &cross_entropy_gradient, arg("gradient").noconvert(), arg("x").noconvert(),
               arg("target").noconvert(), nb::kw_only(), arg("reduction"), arg("ignore_index"));
}

}  // namespace workbench
