// The nearest of many points: distances in doubles to one of them; and to several, those that products in floats leave in question.
#include "neighbours.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

#define WORKBENCH_LEAVES "leaves/neighbours.inl"
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

template <typename T>
std::pair<std::int64_t, std::int64_t> sizes_of(const Plain<T>& points, const char* what) {
    const Dims shape = shape_of(points);
    if (shape.size() != 2) refuse(std::string(what) + " of " + text(shape) + "; give points and features");
    return {shape[0], shape[1]};
}

template <typename T>
nb::object distances_to(const Plain<T>& points, std::int64_t index) {
    const auto [rows, features] = sizes_of(points, "distances_to");
    if (index < 0 || index >= rows) refuse("point " + std::to_string(index) + " of " + std::to_string(rows));
    auto out = Output<double>::row_major({rows});
    {
        KernelScope scope(rows * features * 2);
        const std::int64_t width = features;
        parallel_for(rows, grain_for(width), [&](std::int64_t begin, std::int64_t end) {
            LEAF(squared_distances<T>)(points.data() + begin * width, end - begin, width, points.data() + index * width, out.data() + begin);
        });
    }
    return out.to_python();
}

template <typename T>
nb::tuple products_with(const Plain<T>& points, const Plain<double>& direction) {
    const auto [rows, features] = sizes_of(points, "products_with");
    if (shape_of(direction) != Dims{features}) refuse("a direction of " + text(shape_of(direction)) + " for " + std::to_string(features));
    auto products = Output<double>::row_major({rows}), squares = Output<double>::row_major({rows});
    {
        KernelScope scope(rows * features * 2);
        const std::int64_t width = features;
        parallel_for(rows, grain_for(width), [&](std::int64_t begin, std::int64_t end) {
            LEAF(products_and_squares<T>)(points.data() + begin * width, end - begin, width, direction.data(), products.data() + begin,
                                          squares.data() + begin);
        });
    }
    return nb::make_tuple(products.to_python(), squares.to_python());
}

// What of a row of products may be among its k nearest. A squared distance less the point's own square is known to lie between `low` and
// `low` + width[j] + own_width.
class Candidates {
   public:
    Candidates(std::int64_t count, std::int64_t k)
        : count_(count), k_(k), groups_((8 * (k + 1) + 15) / 16 * 16), places_(count + 16), low_(count + 16), minima_(groups_) {}

    // Reads one row; returns how many candidates are left.
    std::int64_t read(const float* products, const float* least, const float* width, std::int64_t own, float own_width) {
        float bound = std::numeric_limits<float>::infinity();
        if (2 * groups_ <= count_) {
            LEAF(least_of_groups)(products, least, width, count_, groups_, minima_.data());
            // As many points besides itself are as near as the one before this.
            std::nth_element(minima_.data(), minima_.data() + k_, minima_.data() + groups_);
            bound = minima_.data()[k_] + own_width;
        }
        std::int64_t kept = 0;
        const std::int64_t found = LEAF(places_within)(products, least, count_, bound, places_.data(), low_.data());
        for (std::int64_t i = 0; i < found; ++i)
            if (places_.data()[i] != own) places_.data()[kept] = places_.data()[i], low_.data()[kept++] = low_.data()[i];
        return kept > k_ ? narrow(kept, width, own_width) : kept;
    }
    const std::int32_t* places() const { return places_.data(); }

   private:
    // Leaves out what cannot be among the k nearest: groups let pass what shares one with something nearer.
    std::int64_t narrow(std::int64_t count, const float* width, float own_width) {
        high_.resize(static_cast<std::size_t>(count));
        for (std::int64_t i = 0; i < count; ++i) high_[static_cast<std::size_t>(i)] = low_.data()[i] + width[places_.data()[i]];
        std::nth_element(high_.begin(), high_.begin() + (k_ - 1), high_.end());
        const float bound = high_[static_cast<std::size_t>(k_ - 1)] + own_width;
        std::int64_t left = 0;
        for (std::int64_t i = 0; i < count; ++i)
            if (low_.data()[i] <= bound) places_.data()[left++] = places_.data()[i];
        return left;
    }

    std::int64_t count_, k_, groups_;
    Buffer<std::int32_t> places_;
    Buffer<float> low_, minima_;
    std::vector<float> high_;
};

// The k nearest of each of some rows, by their products with all points in floats, and the points themselves.
template <typename T>
nb::tuple nearest_of_products(const Plain<float>& products, const Plain<float>& least, const Plain<float>& width, const Plain<T>& points,
                              const Plain<std::int64_t>& own, const Plain<float>& own_width, std::int64_t k) {
    const auto [count, features] = sizes_of(points, "nearest_of_products");
    const Dims shape = shape_of(products);
    if (shape.size() != 2 || shape[1] != count || shape_of(least) != Dims{count} || shape_of(width) != Dims{count} ||
        shape_of(own) != Dims{shape[0]} || shape_of(own_width) != Dims{shape[0]})
        refuse("nearest_of_products of " + text(shape) + " for " + std::to_string(count) + " points");
    if (k < 1 || k >= count || count > std::numeric_limits<std::int32_t>::max())
        refuse("the " + std::to_string(k) + " nearest of " + std::to_string(count) + " points");
    const std::int64_t rows = shape[0], all = count, wide = features;
    for (std::int64_t row = 0; row < rows; ++row)
        if (own.data()[row] < 0 || own.data()[row] >= count) refuse("point " + std::to_string(own.data()[row]) + " of " + std::to_string(count));
    auto indices = Output<std::int64_t>::row_major({rows, k});
    auto distances = Output<double>::row_major({rows, k});
    std::atomic<bool> whole{true};
    {
        KernelScope scope(rows * (count + k * features * 4));
        parallel_for(rows, 1, [&](std::int64_t begin, std::int64_t end) {
            Candidates candidates(all, k);
            std::vector<double> exact, own_point(static_cast<std::size_t>(wide));
            std::vector<std::pair<double, std::int32_t>> order;
            for (std::int64_t row = begin; row < end; ++row) {
                const std::int64_t place = own.data()[row];
                const std::int64_t kept = candidates.read(products.data() + row * all, least.data(), width.data(), place, own_width.data()[row]);
                exact.resize(static_cast<std::size_t>(kept)), order.resize(static_cast<std::size_t>(kept));
                std::copy_n(points.data() + place * wide, wide, own_point.begin());
                LEAF(squared_distances_of<T>)(points.data(), candidates.places(), kept, wide, own_point.data(), exact.data());
                for (std::size_t i = 0; i < exact.size(); ++i) order[i] = {std::sqrt(exact[i]), candidates.places()[i]};
                // Products that are no numbers leave too few.
                if (kept < k) {
                    whole = false;
                    continue;
                }
                std::nth_element(order.begin(), order.begin() + (k - 1), order.end());
                std::sort(order.begin(), order.begin() + k);
                for (std::int64_t i = 0; i < k; ++i) {
                    indices.data()[row * k + i] = order[static_cast<std::size_t>(i)].second;
                    distances.data()[row * k + i] = order[static_cast<std::size_t>(i)].first;
                }
            }
        });
    }
    if (!whole) refuse("nearest_of_products: some products are not finite");
    return nb::make_tuple(indices.to_python(), distances.to_python());
}

template <typename T>
void bind_for(nb::module_& module) {
    using nb::arg;
    module.def("distances_to", &distances_to<T>, arg("points").noconvert(), arg("index"));
    module.def("products_with", &products_with<T>, arg("points").noconvert(), arg("direction").noconvert());
    module.def("nearest_of_products", &nearest_of_products<T>, arg("products").noconvert(), arg("least").noconvert(), arg("width").noconvert(),
               arg("points").noconvert(), arg("own").noconvert(), arg("own_width").noconvert(), arg("k"));
}

}  // namespace

void bind_neighbours(nb::module_& module) {
    bind_for<float>(module);
    bind_for<double>(module);
}

}  // namespace workbench
