// Steps of training on rows: normalised ones and their gradient, the logarithm of softmax, gradients of both, losses of classes.
#include <cmath>

#include "../layer_norm.hpp"
#include "../nll_loss.hpp"
#include "../softmax.hpp"
#include "steps.hpp"

#include <algorithm>

namespace workbench::compiled {
namespace {

const float* floats(void* place) { return static_cast<const float*>(place); }

// So many rows of the last `dims` dims.
struct RowSizes {
    Dims last, statistic;
    std::int64_t rows, columns;

    RowSizes(const Dims& sizes, std::int64_t dims) {
        if (dims < 1 || dims > static_cast<std::int64_t>(sizes.size()) || !count_of(sizes)) refuse("no rows of " + text(sizes) + " to norm");
        last.assign(sizes.end() - dims, sizes.end()), statistic.assign(sizes.begin(), sizes.end() - dims);
        rows = count_of(statistic), columns = count_of(last);
        statistic.resize(sizes.size(), 1);
    }
};

}  // namespace

// The rows normalised, their means and reciprocal deviations; a weight or bias that is not there is -1.
std::vector<int> Program::layer_norm_kept(int x, int weight, int bias, std::int64_t dims, double eps) {
    x = plain(x);
    const RowSizes size(shape(x), dims);
    const int y = add_plain(shape(x)), means = add_plain(size.statistic), rstds = add_plain(size.statistic);
    std::vector<int> slots{x, y, means, rstds};
    for (int* one : {&weight, &bias}) {
        if (*one < 0) continue;
        if (shape(*one = plain(*one)) != size.last) refuse("rows of " + text(size.last) + " have no factors of " + text(shape(*one)));
        slots.push_back(*one);
    }
    const int gain = weight >= 0 ? 4 : -1, offset = bias >= 0 ? static_cast<int>(slots.size()) - 1 : -1;
    add_loop("layer norm kept own", slots, thread_count(), [=](void* const* at) {
        auto* deviations = static_cast<float*>(at[3]);
        normalise_rows<float>(floats(at[0]), size.rows, size.columns, gain < 0 ? nullptr : floats(at[gain]),
                              offset < 0 ? nullptr : floats(at[offset]), eps, static_cast<float*>(at[1]), static_cast<float*>(at[2]), deviations);
        // The op has another way for rows that deviate by more than floats hold.
        for (std::int64_t row = 0; row < size.rows; ++row)
            if (!(deviations[row] > 0.f)) throw OutOfRange();
    });
    // Of n values none is further from their mean than the root of n deviations.
    bounded(y, [=, root = std::sqrt(static_cast<double>(size.columns))] {
        return root * (gain < 0 ? 1 : bound(weight)) + (offset < 0 ? 0 : bound(bias));
    });
    return {y, means, rstds};
}

std::vector<int> Program::layer_norm_gradient(int gradient, int x, int means, int rstds, int weight, std::int64_t dims) {
    const RowSizes size(shape(x), dims);
    if (shape(gradient) != shape(x)) refuse("a gradient of " + text(shape(gradient)) + " for rows of " + text(shape(x)));
    for (int* one : {&gradient, &x, &means, &rstds}) *one = plain(*one);
    for (const int one : {means, rstds})
        if (count_of(shape(one)) != size.rows) refuse("statistics of " + text(shape(one)) + " for rows of " + text(shape(x)));
    const int gx = add_plain(shape(x)), gw = add_plain(size.last), gb = add_plain(size.last);
    std::vector<int> slots{gradient, x, means, rstds, gx, gw, gb};
    if (weight >= 0) slots.push_back(weight = plain(weight));
    if (weight >= 0 && shape(weight) != size.last) refuse("rows of " + text(size.last) + " have no factors of " + text(shape(weight)));
    add_loop("layer norm's gradient own", slots, thread_count(), [size, weighed = weight >= 0](void* const* at) {
        normalise_rows_gradient<float>(floats(at[0]), floats(at[1]), size.rows, size.columns, floats(at[2]), floats(at[3]),
                                       weighed ? floats(at[7]) : nullptr, static_cast<float*>(at[4]), static_cast<float*>(at[5]),
                                       static_cast<float*>(at[6]));
    });
    return {gx, gw, gb};
}

int Program::log_softmax(int x, std::int64_t dim) {
    const Dims sizes = shape(x = plain(x));
    const int y = add_plain(sizes);
    add_loop("log softmax own", {x, y}, thread_count(), [=](void* const* at) {
        softmax_along<float>(floats(at[0]), sizes, dim, true, static_cast<float*>(at[1]));
    });
    return y;
}

int Program::softmax_gradient(int gradient, int y, std::int64_t dim, bool logarithm) {
    const Dims sizes = shape(y = plain(y));
    if (shape(gradient = plain(gradient)) != sizes) refuse("a gradient of " + text(shape(gradient)) + " for a softmax of " + text(sizes));
    const int gx = add_plain(sizes);
    add_loop(logarithm ? "log softmax's gradient own" : "softmax's gradient own", {gradient, y, gx}, thread_count(), [=](void* const* at) {
        softmax_along_gradient<float>(floats(at[0]), floats(at[1]), sizes, dim, logarithm, static_cast<float*>(at[2]));
    });
    return gx;
}

// ------------------------------------------------------------------------------------------------------ rows of a table

namespace {

// What a row that there is not raises, the op says.
void expect_rows(const std::int64_t* which, std::int64_t count, std::int64_t rows) {
    for (std::int64_t i = 0; i < count; ++i)
        if (which[i] < 0 || which[i] >= rows) throw OutOfRange();
}

}  // namespace

int Program::embedding(int indices, int table) {
    Dims sizes = shape(indices = plain(indices));
    const Dims of_table = shape(table = plain(table));
    if (of_table.size() != 2) refuse("a table of rows has two dims, not " + text(of_table));
    const std::int64_t count = count_of(sizes), rows = of_table[0], width = of_table[1];
    sizes.push_back(width);
    const int made = add_plain(sizes);
    add_loop("rows of a table", {indices, table, made}, thread_count(), [=](void* const* at) {
        const auto* which = static_cast<const std::int64_t*>(at[0]);
        expect_rows(which, count, rows);
        parallel_for(count, grain_for(width), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i)
                std::copy_n(floats(at[1]) + which[i] * width, width, static_cast<float*>(at[2]) + i * width);
        });
    });
    return made;
}

// The gradient of a table of `rows`: each row of the gradient added to its own, in order; threads part the columns.
int Program::embedding_gradient(int indices, int gradient, std::int64_t rows) {
    const Dims sizes = shape(indices = plain(indices)), of_gradient = shape(gradient = plain(gradient));
    if (of_gradient.size() != sizes.size() + 1 || !std::equal(sizes.begin(), sizes.end(), of_gradient.begin()))
        refuse("rows of " + text(of_gradient) + " for places of " + text(sizes));
    const std::int64_t count = count_of(sizes), width = of_gradient.back();
    const int made = add_plain({rows, width});
    add_loop("rows added to a table", {indices, gradient, made}, thread_count(), [=](void* const* at) {
        const auto* which = static_cast<const std::int64_t*>(at[0]);
        auto* out = static_cast<float*>(at[2]);
        expect_rows(which, count, rows);
        parallel_for(width, std::max<std::int64_t>(16, grain_for(count + rows)), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = 0; row < rows; ++row) std::fill(out + row * width + begin, out + row * width + end, 0.f);
            for (std::int64_t i = 0; i < count; ++i) {
                const float* from = floats(at[1]) + i * width;
                float* to = out + which[i] * width;
                for (std::int64_t c = begin; c < end; ++c) to[c] += from[c];
            }
        });
    });
    return made;
}

// --------------------------------------------------------------------------------------------------- losses of classes

namespace {

// What a class that there is not raises, the op says.
template <typename Body>
void within_classes(Body&& body) {
    try {
        body();
    } catch (const nb::builtin_exception&) {
        throw OutOfRange();
    }
}

Dims places_of(const Dims& sizes, const Dims& target) {
    Dims places = sizes;
    if (sizes.size() > 1) places.erase(places.begin() + 1);
    if (sizes.size() < 2 || !count_of(sizes) || places != target) refuse("a loss of " + text(sizes) + " and classes " + text(target));
    return places;
}

}  // namespace

int Program::cross_entropy(int x, int target, const std::string& reduction, std::int64_t ignored, float smoothing) {
    const Dims sizes = shape(x = plain(x)), places = places_of(sizes, shape(target = plain(target)));
    const int made = add_plain(reduction == "none" ? places : Dims{});
    add_loop("cross entropy own", {x, target, made}, thread_count(), [=, how = CrossEntropy{reduction, ignored, smoothing}](void* const* at) {
        within_classes([&] {
            cross_entropy_of(floats(at[0]), sizes, static_cast<const std::int64_t*>(at[1]), how, static_cast<float*>(at[2]));
        });
    });
    return made;
}

int Program::cross_entropy_gradient(int gradient, int x, int target, const std::string& reduction, std::int64_t ignored, float smoothing) {
    const Dims sizes = shape(x = plain(x)), places = places_of(sizes, shape(target = plain(target)));
    if (shape(gradient = plain(gradient)) != (reduction == "none" ? places : Dims{})) refuse("a loss's gradient has shape " + text(shape(gradient)));
    const int gx = add_plain(sizes);
    add_loop("cross entropy's gradient own", {gradient, x, target, gx}, thread_count(),
             [=, how = CrossEntropy{reduction, ignored, smoothing}](void* const* at) {
                 within_classes([&] {
                     cross_entropy_of_gradient(floats(at[0]), floats(at[1]), sizes, static_cast<const std::int64_t*>(at[2]), how,
                                               static_cast<float*>(at[3]));
                 });
             });
    return gx;
}

int Program::nll_loss(int x, int target, int weight, const std::string& reduction, std::int64_t ignored) {
    const Dims sizes = shape(x = plain(x)), places = places_of(sizes, shape(target = plain(target)));
    const int made = add_plain(reduction == "none" ? places : Dims{});
    std::vector<int> slots{x, target, made};
    if (weight >= 0) slots.push_back(weight = plain(weight));
    if (weight >= 0 && shape(weight) != Dims{sizes[1]}) refuse("classes " + text(sizes) + " have no weights of " + text(shape(weight)));
    add_loop("likelihood own", slots, 1, [=, weighed = weight >= 0](void* const* at) {
        within_classes([&] {
            nll_loss_of(floats(at[0]), sizes, static_cast<const std::int64_t*>(at[1]), weighed ? floats(at[3]) : nullptr, reduction, ignored,
                        static_cast<float*>(at[2]));
        });
    });
    return made;
}

int Program::nll_loss_gradient(int gradient, int target, int weight, const Dims& sizes, const std::string& reduction, std::int64_t ignored) {
    const Dims places = places_of(sizes, shape(target = plain(target)));
    if (shape(gradient = plain(gradient)) != (reduction == "none" ? places : Dims{})) refuse("a loss's gradient has shape " + text(shape(gradient)));
    const int gx = add_plain(sizes);
    std::vector<int> slots{gradient, target, gx};
    if (weight >= 0) slots.push_back(weight = plain(weight));
    if (weight >= 0 && shape(weight) != Dims{sizes[1]}) refuse("classes " + text(sizes) + " have no weights of " + text(shape(weight)));
    add_loop("likelihood's gradient own", slots, thread_count(), [=, weighed = weight >= 0](void* const* at) {
        within_classes([&] {
            nll_loss_of_gradient(floats(at[0]), sizes, static_cast<const std::int64_t*>(at[1]), weighed ? floats(at[3]) : nullptr, reduction,
                                 ignored, static_cast<float*>(at[2]));
        });
    });
    return gx;
}

}  // namespace workbench::compiled
