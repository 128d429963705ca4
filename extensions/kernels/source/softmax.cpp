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

}  // namespace

template <typename T>
void softmax_along(const T* x, const Dims& shape, std::int64_t dim, bool logarithm, T* out) {
    const Slices slices(shape, dim, "softmax");
    over_slices(
        slices, 4,
        [&](std::int64_t begin, std::int64_t end) {
            LEAF_WIDE(softmax_rows<T>)(x + begin * slices.rows, end - begin, slices.rows, logarithm, out + begin * slices.rows);
        },
        [&](std::int64_t at, std::int64_t columns) {
            LEAF_WIDE(softmax_columns<T>)(x + at, slices.rows, columns, slices.columns, logarithm, out + at);
        });
}

template <typename T>
void softmax_along_gradient(const T* gradient, const T* y, const Dims& shape, std::int64_t dim, bool logarithm, T* out) {
    const Slices slices(shape, dim, "softmax gradient");
    over_slices(
        slices, 2,
        [&](std::int64_t begin, std::int64_t end) {
            const std::int64_t at = begin * slices.rows;
            LEAF_WIDE(softmax_gradient_rows<T>)(gradient + at, y + at, end - begin, slices.rows, logarithm, out + at);
        },
        [&](std::int64_t at, std::int64_t columns) {
            LEAF_WIDE(softmax_gradient_columns<T>)(gradient + at, y + at, slices.rows, columns, slices.columns, logarithm, out + at);
        });
}

template void softmax_along<float>(const float*, const Dims&, std::int64_t, bool, float*);
template void softmax_along_gradient<float>(const float*, const float*, const Dims&, std::int64_t, bool, float*);

namespace {

template <typename T>
nb::object softmax(const Input<T>& x, std::int64_t dim, bool logarithm) {
    const Dims shape = shape_of(x);
    const Slices checked(shape, dim, "softmax");
    auto out = Output<T>::row_major(shape);
    {
        KernelScope scope;
        const auto input = row_major(x);
        softmax_along<T>(input.data(), shape, dim, logarithm, out.data());
    }
    return out.to_python();
}

template <typename T>
nb::object softmax_gradient(const Input<T>& gradient, const Input<T>& y, std::int64_t dim, bool logarithm) {
    const Dims shape = shape_of(y);
    const Slices checked(shape, dim, "softmax gradient");
    if (shape_of(gradient) != shape)
        refuse("softmax gradient has shape " + text(shape_of(gradient)) + "; expected " + text(shape));
    auto out = Output<T>::row_major(shape);
    {
        KernelScope scope;
        const auto gradients = row_major(gradient);
        const auto outputs = row_major(y);
        softmax_along_gradient<T>(gradients.data(), outputs.data(), shape, dim, logarithm, out.data());
    }
    return out.to_python();
}

using Classes = Input<std::int64_t>;

// Scores [N, C, ...] and a class for each place; counts those that are not ignored, and refuses classes that there are not.
// Where classes lie side by side, as of channels-last images, each place is a row of them; else places lie side by side.
struct Scores {
    Dims shape;
    std::int64_t classes, places, counted = 0;
    Slices slices;
    const float* values;
    const std::int64_t* targets;

    Scores(const float* x, const Dims& shape, const Dims& order, const std::int64_t* target, std::int64_t ignored)
        : shape(shape), classes(shape[1]), places(count_of(shape) / shape[1]), slices(shape, 1, "cross_entropy"), values(x), targets(target) {
        if (shape.size() > 2 && order == channels_last_strides(shape)) slices.outer *= slices.columns, slices.columns = 1;
        for (std::int64_t place = 0; place < places; ++place) {
            const std::int64_t one = targets[place];
            if (one == ignored) continue;
            if (one < 0 || one >= classes) throw nb::index_error(std::to_string(one).c_str());
            ++counted;
        }
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

// `losses` has room for all places.
void entropies(const Scores& scores, const CrossEntropy& how, float* losses, float* total) {
    scores.over(
        [&](std::int64_t at, std::int64_t rows, std::int64_t place) {
            LEAF_WIDE(cross_entropy_rows)(scores.values + at, rows, scores.classes, scores.targets + place, how.ignored, how.smoothing,
                                          losses + place);
        },
        [&](std::int64_t at, std::int64_t columns, std::int64_t place) {
            LEAF_WIDE(cross_entropy_columns)(scores.values + at, scores.classes, columns, scores.slices.columns, scores.targets + place,
                                             how.ignored, how.smoothing, losses + place);
        });
    if (how.reduction == "none") return;
    double sum = 0;
    for (std::int64_t place = 0; place < scores.places; ++place) sum += static_cast<double>(losses[place]);
    *total = static_cast<float>(how.reduction == "mean" ? sum / static_cast<double>(scores.counted) : sum);
}

void slopes(const Scores& scores, const CrossEntropy& how, const float* factors, float* gx) {
    const std::int64_t step = how.reduction == "none" ? 1 : 0;
    const float share = how.reduction == "mean" ? static_cast<float>(1.0 / static_cast<double>(scores.counted)) : 1.f;
    scores.over(
        [&](std::int64_t at, std::int64_t rows, std::int64_t place) {
            LEAF_WIDE(cross_entropy_gradient_rows)(scores.values + at, rows, scores.classes, scores.targets + place, how.ignored,
                                                   how.smoothing, factors + place * step, step, share, gx + at);
        },
        [&](std::int64_t at, std::int64_t columns, std::int64_t place) {
            LEAF_WIDE(cross_entropy_gradient_columns)(scores.values + at, scores.classes, columns, scores.slices.columns,
                                                      scores.targets + place, how.ignored, how.smoothing, factors + place * step, step,
                                                      share, gx + at);
        });
}

// What Python gives: scores stay as they lie where classes lie side by side.
struct Given {
    Dims shape, order;
    Dense<std::int64_t> targets;
    Dense<float> values;

    Given(const Input<float>& x, const Classes& target)
        : shape(checked(shape_of(x), shape_of(target))), order(order_of(x)), targets(row_major(target)), values(x, order) {}
    static Dims order_of(const Input<float>& x) {
        const Dims shape = shape_of(x), last = channels_last_strides(shape);
        return shape.size() > 2 && lies_as(shape, strides_of(x), last) ? last : row_major_strides(shape);
    }
    static Dims checked(const Dims& shape, const Dims& target) {
        Dims places = shape;
        if (shape.size() > 1) places.erase(places.begin() + 1);
        if (shape.size() < 2 || shape[1] == 0 || target != places)
            refuse("cross_entropy of scores " + text(shape) + " and classes " + text(target));
        return shape;
    }
    Scores scores(std::int64_t ignored) const { return Scores(values.data(), shape, order, targets.data(), ignored); }
};

nb::object cross_entropy(const Input<float>& x, const Classes& target, const std::string& reduction, std::int64_t ignored,
                         float smoothing) {
    const Given given(x, target);
    const Scores scores = given.scores(ignored);
    auto losses = Output<float>::row_major(shape_of(target));
    auto total = Output<float>::row_major({});
    {
        KernelScope scope;
        entropies(scores, {reduction, ignored, smoothing}, losses.data(), total.data());
    }
    return reduction == "none" ? losses.to_python() : total.to_python();
}

nb::object cross_entropy_gradient(const Input<float>& gradient, const Input<float>& x, const Classes& target,
                                  const std::string& reduction, std::int64_t ignored, float smoothing) {
    const Given given(x, target);
    const Scores scores = given.scores(ignored);
    if (shape_of(gradient) != (reduction == "none" ? shape_of(target) : Dims{}))
        refuse("cross_entropy gradient has shape " + text(shape_of(gradient)) + " for scores " + text(scores.shape));
    Output<float> gx(scores.shape, given.order);
    {
        KernelScope scope;
        const auto factors = row_major(gradient);
        slopes(scores, {reduction, ignored, smoothing}, factors.data(), gx.data());
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

void cross_entropy_of(const float* x, const Dims& shape, const std::int64_t* target, const CrossEntropy& how, float* out) {
    const Scores scores(x, shape, row_major_strides(shape), target, how.ignored);
    if (how.reduction == "none") return entropies(scores, how, out, nullptr);
    const Buffer<float> losses(scores.places);
    entropies(scores, how, losses.data(), out);
}

void cross_entropy_of_gradient(const float* gradient, const float* x, const Dims& shape, const std::int64_t* target,
                               const CrossEntropy& how, float* gx) {
    slopes(Scores(x, shape, row_major_strides(shape), target, how.ignored), how, gradient, gx);
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
