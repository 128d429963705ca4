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

}  // namespace

void bind_softmax(nb::module_& module) {
    using nb::arg;
    module.def("softmax", &softmax, arg("x").noconvert(), nb::kw_only(), arg("dim") = -1, arg("logarithm") = false);
    module.def("softmax_gradient", &softmax_gradient, arg("gradient").noconvert(), arg("y").noconvert(), nb::kw_only(),
               arg("dim") = -1, arg("logarithm") = false);
}

}  // namespace workbench
