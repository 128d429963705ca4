// Softmax, its logarithm and their gradients along any dimension of float32 and float64; cross entropy of scores and classes.
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

template <typename T>
nb::object softmax(const Input<T>& x, std::int64_t dim, bool logarithm) {
    const Dims shape = shape_of(x);
    const Slices slices(shape, dim, "softmax");
    auto out = Output<T>::row_major(shape);
    {
        KernelScope scope;
        const auto input = row_major(x);
        const T* from = input.data();
        over_slices(
            slices, 4,
            [&](std::int64_t begin, std::int64_t end) {
                LEAF_WIDE(softmax_rows<T>)(from + begin * slices.rows, end - begin, slices.rows, logarithm,
                                        out.data() + begin * slices.rows);
            },
            [&](std::int64_t at, std::int64_t columns) {
                LEAF_WIDE(softmax_columns<T>)(from + at, slices.rows, columns, slices.columns, logarithm, out.data() + at);
            });
    }
    return out.to_python();
}

template <typename T>
nb::object softmax_gradient(const Input<T>& gradient, const Input<T>& y, std::int64_t dim, bool logarithm) {
    const Dims shape = shape_of(y);
    const Slices slices(shape, dim, "softmax gradient");
    if (shape_of(gradient) != shape)
        refuse("softmax gradient has shape " + text(shape_of(gradient)) + "; expected " + text(shape));
    auto out = Output<T>::row_major(shape);
    {
        KernelScope scope;
        const auto gradients = row_major(gradient);
        const auto outputs = row_major(y);
        over_slices(
            slices, 2,
            [&](std::int64_t begin, std::int64_t end) {
                const std::int64_t at = begin * slices.rows;
                LEAF_WIDE(softmax_gradient_rows<T>)(gradients.data() + at, outputs.data() + at, end - begin, slices.rows,
                                                 logarithm, out.data() + at);
            },
            [&](std::int64_t at, std::int64_t columns) {
                LEAF_WIDE(softmax_gradient_columns<T>)(gradients.data() + at, outputs.data() + at, slices.rows, columns,
                                                    slices.columns, logarithm, out.data() + at);
            });
    }
    return out.to_python();
}

using Classes = Input<std::int64_t>;

// Scores [N, C, ...] and a class for each place; counts those that are not ignored, and refuses classes that there are not.
// Where classes lie side by side, as of channels-last images, each place is a row of them; else places lie side by side.
struct Scores {
    Dims shape, order;
    std::int64_t classes, places, counted = 0;
    Slices slices;
    Dense<std::int64_t> targets;
    Dense<float> values;

    static Dims order_of(const Input<float>& x) {
        const Dims shape = shape_of(x), last = channels_last_strides(shape);
        return shape.size() > 2 && lies_as(shape, strides_of(x), last) ? last : row_major_strides(shape);
    }
    Scores(const Input<float>& x, const Classes& target, std::int64_t ignored)
        : shape(shape_of(x)), order(order_of(x)), classes(shape.size() > 1 ? shape[1] : 0), places(count_of(shape_of(target))),
          slices(checked(shape, shape_of(target)), 1, "cross_entropy"), targets(row_major(target)), values(x, order) {
        if (shape.size() > 2 && order == channels_last_strides(shape)) slices.outer *= slices.columns, slices.columns = 1;
        for (std::int64_t place = 0; place < places; ++place) {
            const std::int64_t one = targets.data()[place];
            if (one == ignored) continue;
            if (one < 0 || one >= classes) throw nb::index_error(std::to_string(one).c_str());
            ++counted;
        }
    }
    static const Dims& checked(const Dims& shape, const Dims& target) {
        Dims places = shape;
        if (shape.size() > 1) places.erase(places.begin() + 1);
        if (shape.size() < 2 || shape[1] == 0 || target != places)
            refuse("cross_entropy of scores " + text(shape) + " and classes " + text(target));
        return shape;
    }
    // Calls with where scores begin, how many places there are, and the first place.
    template <typename Rows, typename Columns>
    void over(Rows&& by_rows, Columns&& by_columns) const {
        over_slices(
            slices, 4,
            [&](std::int64_t begin, std::int64_t end) { by_rows(begin * classes, end - begin, begin); },
            [&](std::int64_t at, std::int64_t columns) {
                const std::int64_t image = classes * slices.columns;
                by_columns(at, columns, at / image * slices.columns + at % image);
            });
    }
};

nb::object cross_entropy(const Input<float>& x, const Classes& target, const std::string& reduction, std::int64_t ignored,
                         float smoothing) {
    const Scores scores(x, target, ignored);
    const bool each = reduction == "none";
    auto losses = Output<float>::row_major(shape_of(target));
    auto total = Output<float>::row_major({});
    {
        KernelScope scope;
        const float* from = scores.values.data();
        const std::int64_t* classes = scores.targets.data();
        scores.over(
            [&](std::int64_t at, std::int64_t rows, std::int64_t place) {
                LEAF_WIDE(cross_entropy_rows)(from + at, rows, scores.classes, classes + place, ignored, smoothing, losses.data() + place);
            },
            [&](std::int64_t at, std::int64_t columns, std::int64_t place) {
                LEAF_WIDE(cross_entropy_columns)(from + at, scores.classes, columns, scores.slices.columns, classes + place, ignored,
                                                 smoothing, losses.data() + place);
            });
        double sum = 0;
        if (!each)
            for (std::int64_t place = 0; place < scores.places; ++place) sum += static_cast<double>(losses.data()[place]);
        *total.data() = static_cast<float>(reduction == "mean" ? sum / static_cast<double>(scores.counted) : sum);
    }
    return each ? losses.to_python() : total.to_python();
}

nb::object cross_entropy_gradient(const Input<float>& gradient, const Input<float>& x, const Classes& target,
                                  const std::string& reduction, std::int64_t ignored, float smoothing) {
    const Scores scores(x, target, ignored);
    const bool each = reduction == "none";
    if (shape_of(gradient) != (each ? shape_of(target) : Dims{}))
        refuse("cross_entropy gradient has shape " + text(shape_of(gradient)) + " for scores " + text(scores.shape));
    Output<float> gx(scores.shape, scores.order);
    {
        KernelScope scope;
        const auto factors = row_major(gradient);
        const std::int64_t step = each ? 1 : 0;
        const float share = reduction == "mean" ? static_cast<float>(1.0 / static_cast<double>(scores.counted)) : 1.f;
        const float* from = scores.values.data();
        const std::int64_t* classes = scores.targets.data();
        scores.over(
            [&](std::int64_t at, std::int64_t rows, std::int64_t place) {
                LEAF_WIDE(cross_entropy_gradient_rows)(from + at, rows, scores.classes, classes + place, ignored, smoothing,
                                                       factors.data() + place * step, step, share, gx.data() + at);
            },
            [&](std::int64_t at, std::int64_t columns, std::int64_t place) {
                LEAF_WIDE(cross_entropy_gradient_columns)(from + at, scores.classes, columns, scores.slices.columns, classes + place,
                                                          ignored, smoothing, factors.data() + place * step, step, share, gx.data() + at);
            });
    }
    return gx.to_python();
}

template <typename T>
void bind_alike(nb::module_& module) {
    using nb::arg;
    module.def("softmax", &softmax<T>, arg("x").noconvert(), nb::kw_only(), arg("dim") = -1, arg("logarithm") = false);
    module.def("softmax_gradient", &softmax_gradient<T>, arg("gradient").noconvert(), arg("y").noconvert(), nb::kw_only(),
               arg("dim") = -1, arg("logarithm") = false);
}

}  // namespace

void softmax_of_rows(const float* x, std::int64_t rows, std::int64_t columns, bool logarithm, float* y) {
    LEAF_WIDE(softmax_rows<float>)(x, rows, columns, logarithm, y);
}
void softmax_of_rows(const double* x, std::int64_t rows, std::int64_t columns, bool logarithm, double* y) {
    LEAF_WIDE(softmax_rows<double>)(x, rows, columns, logarithm, y);
}

void bind_softmax(nb::module_& module) {
    using nb::arg;
    bind_alike<float>(module);
    bind_alike<double>(module);
    module.def("cross_entropy", &cross_entropy, arg("x").noconvert(), arg("target").noconvert(), nb::kw_only(), arg("reduction"),
               arg("ignore_index"), arg("smoothing") = 0.f);
    module.def("cross_entropy_gradient", &cross_entropy_gradient, arg("gradient").noconvert(), arg("x").noconvert(),
               arg("target").noconvert(), nb::kw_only(), arg("reduction"), arg("ignore_index"), arg("smoothing") = 0.f);
}

}  // namespace workbench
