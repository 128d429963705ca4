// What principal components need of many points in floats: the matrix of their products, and their places along directions.
#include "components.hpp"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#define WORKBENCH_LEAVES "leaves/components.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

constexpr std::int64_t parts = 8;    // whatever the threads: sums are the same with any number of them
constexpr std::int64_t rows_at_once = 128;  // summed in floats; a near cache holds them

std::pair<std::int64_t, std::int64_t> sizes_of(const Plain<float>& points, const Plain<float>& middle, const char* what) {
    const Dims shape = shape_of(points);
    if (shape.size() != 2 || shape_of(middle) != Dims{shape[1]})
        refuse(std::string(what) + " of " + text(shape) + " less " + text(shape_of(middle)) + "; give points and features, and a middle");
    return {shape[0], shape[1]};
}

// Sums of the columns of points less the middle [features], and the products of those columns [features, features].
nb::tuple products_of_columns(const Plain<float>& points, const Plain<float>& middle) {
    const auto [count, features] = sizes_of(points, middle, "products_of_columns");
    const std::int64_t rows = count, width = features, wide = LEAF_WIDE(floats_of_row)(features);
    auto sums = Output<double>::row_major({features});
    auto square = Output<double>::row_major({features, features});
    {
        KernelScope scope(rows * width * width / 2);
        std::vector<double> found(static_cast<std::size_t>(parts * (wide + 1) * wide));
        const auto sum = [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
            constexpr std::int64_t behind = 16;  // that the last columns are read with
            Buffer<float> held(rows_at_once * wide + behind);
            std::fill_n(held.data(), rows_at_once * wide + behind, 0.0f);
            double* own = found.data() + part * (wide + 1) * wide;
            for (std::int64_t row = begin; row < end; row += rows_at_once) {
                const std::int64_t some = std::min(rows_at_once, end - row);
                LEAF_WIDE(rows_less_middle)(points.data() + row * width, some, width, middle.data(), wide, held.data(), own);
                LEAF_WIDE(add_products_of_columns)(held.data(), some, wide, own + wide);
            }
        };
        // Whoever is free takes the next part: the threads of an eigenvalue library go on waiting, and hold up one of ours.
        std::atomic<std::int64_t> next{0};
        parallel_for(std::min<std::int64_t>(parts, thread_count()), 1, [&](std::int64_t, std::int64_t) {
            for (std::int64_t part = next++; part < parts; part = next++) sum(part, rows * part / parts, rows * (part + 1) / parts);
        });
        const auto whole = [&](std::int64_t place) {
            double sum = 0;
            for (std::int64_t part = 0; part < parts; ++part) sum += found[static_cast<std::size_t>(part * (wide + 1) * wide + place)];
            return sum;
        };
        for (std::int64_t i = 0; i < width; ++i) {
            sums.data()[i] = whole(i);
            for (std::int64_t j = i; j < width; ++j) square.data()[i * width + j] = square.data()[j * width + i] = whole((i + 1) * wide + j);
        }
    }
    return nb::make_tuple(sums.to_python(), square.to_python());
}

// Places of points less the middle along directions [count, features], in doubles [N, count].
nb::object places_along(const Plain<float>& points, const Plain<float>& middle, const Plain<float>& directions) {
    const auto [count, features] = sizes_of(points, middle, "places_along");
    const Dims given = shape_of(directions);
    if (given.size() != 2 || given[1] != features) refuse("directions of " + text(given) + " for points of " + std::to_string(features));
    if (features < 8) refuse("places_along of points with " + std::to_string(features) + " features; 8 or more");
    const std::int64_t rows = count, width = features, some = given[0];
    auto out = Output<double>::row_major({rows, some});
    {
        KernelScope scope(rows * width * some);
        // Some at a time: with several directions they are read more than once.
        constexpr std::int64_t together = 64;
        parallel_for((rows + together - 1) / together, grain_for(width * together), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin * together; row < std::min(rows, end * together); row += together)
                LEAF_WIDE(rows_along)(points.data() + row * width, std::min(together, rows - row), width, middle.data(), directions.data(), some,
                                 out.data() + row * some);
        });
    }
    return out.to_python();
}

}  // namespace

void bind_components(nb::module_& module) {
    using nb::arg;
    module.def("products_of_columns", &products_of_columns, arg("points").noconvert(), arg("middle").noconvert());
    module.def("places_along", &places_along, arg("points").noconvert(), arg("middle").noconvert(), arg("directions").noconvert());
}

}  // namespace workbench
