// Statistics and histograms for observers and pictures: one pass, all threads, any memory order.
#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#define WORKBENCH_LEAVES "leaves/statistics.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

constexpr std::int64_t block = 4096;

Moments nothing() {
    Moments none{};
    none.least = std::numeric_limits<float>::infinity();
    none.largest = -none.least;
    return none;
}

void merge(Moments& into, const Moments& from) {
    const double all = static_cast<double>(into.finite + from.finite);
    if (from.finite) {
        const double distance = from.mean - into.mean, share = static_cast<double>(from.finite) / all;
        into.deviation += from.deviation + distance * distance * static_cast<double>(into.finite) * share;
        into.mean += distance * share;
    }
    into.least = std::min(into.least, from.least);
    into.largest = std::max(into.largest, from.largest);
    into.finite += from.finite, into.nan += from.nan, into.infinite += from.infinite, into.zero += from.zero;
}

template <typename Leaf>
Moments observe(const Input<float>& x, Leaf&& leaf) {
    const Dims shape = shape_of(x);
    const std::int64_t count = count_of(shape);
    KernelScope scope;
    const Dense<float> input(x, dense_strides_like(shape, strides_of(x)));
    const std::int64_t parts = part_count(count, 16384);
    std::vector<Moments> found(static_cast<std::size_t>(parts), nothing());
    parallel_parts(count, parts, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
        Moments& mine = found[static_cast<std::size_t>(part)];
        for (std::int64_t i = begin; i < end; i += block) merge(mine, leaf(input.data() + i, std::min(block, end - i)));
    });
    Moments total = nothing();
    for (const Moments& part : found) merge(total, part);
    return total;
}

double or_nan(const Moments& found, double value) { return found.finite ? value : std::nan(""); }

nb::tuple min_max_nan_inf(const Input<float>& x) {
    const Moments found = observe(x, LEAF_WIDE(block_extremes));
    return nb::make_tuple(or_nan(found, found.least), or_nan(found, found.largest), found.nan, found.infinite);
}

// Least and largest finite value of each row, infinity the wrong way round where there is none.
nb::tuple row_extremes(const Input<float>& x) {
    const Dims shape = shape_of(x);
    if (shape.size() != 2) refuse("row_extremes of " + text(shape) + "; give rows and columns");
    const std::int64_t rows = shape[0], count = shape[1];
    auto least = Output<float>::row_major({rows}), largest = Output<float>::row_major({rows});
    std::int64_t nan = 0, infinite = 0;
    {
        KernelScope scope;
        const auto input = row_major(x);
        const std::int64_t parts = part_count(rows, std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, count)));
        std::vector<Moments> found(static_cast<std::size_t>(parts), nothing());
        parallel_parts(rows, parts, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row) {
                const Moments mine = count ? LEAF_WIDE(block_extremes)(input.data() + row * count, count) : nothing();
                least.data()[row] = mine.least, largest.data()[row] = mine.largest;
                found[static_cast<std::size_t>(part)].nan += mine.nan, found[static_cast<std::size_t>(part)].infinite += mine.infinite;
            }
        });
        for (const Moments& part : found) nan += part.nan, infinite += part.infinite;
    }
    return nb::make_tuple(least.to_python(), largest.to_python(), nan, infinite);
}

nb::dict statistics(const Input<float>& x) {
    const Moments found = observe(x, LEAF_WIDE(block_statistics));
    nb::dict out;
    out["count"] = count_of(shape_of(x));
    out["min"] = or_nan(found, found.least);
    out["max"] = or_nan(found, found.largest);
    out["mean"] = or_nan(found, found.mean);
    out["std"] = or_nan(found, std::sqrt(found.deviation / std::max(1.0, static_cast<double>(found.finite))));
    out["zeros"] = found.zero;
    out["nan"] = found.nan;
    out["inf"] = found.infinite;
    return out;
}

Bins checked(double low, double high, std::int64_t bins) {
    if (bins < 1 || bins > (1 << 20)) refuse("histogram with " + std::to_string(bins) + " bins; give 1 to 2^20");
    if (!std::isfinite(low) || !std::isfinite(high) || !(low < high) || !std::isfinite(high - low))
        refuse("histogram from " + std::to_string(low) + " to " + std::to_string(high) +
               "; both ends must be finite, and low below high");
    return {low, high, static_cast<double>(bins) / (high - low), bins};
}

// Counts into `out`, which has a place for each bin, and says what was seen on the way, but for moments.
Moments count_values(const Input<float>& x, const Bins& bins, std::int64_t* out) {
    const Dims shape = shape_of(x);
    const std::int64_t count = count_of(shape);
    constexpr std::int64_t most = 1 << 30;  // of a table's counts
    std::fill_n(out, bins.count, 0);
    KernelScope scope;
    const Dense<float> input(x, dense_strides_like(shape, strides_of(x)));
    const std::int64_t parts = std::max(part_count(count, std::max<std::int64_t>(16384, 2 * bins.count)), (count + most - 1) / most);
    const std::int64_t size = 2 * (bins.count + 1);
    const Buffer<std::int32_t> tables(parts * size);
    std::vector<Moments> found(static_cast<std::size_t>(parts), nothing());
    parallel_parts(count, parts, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
        std::fill_n(tables.data() + part * size, size, 0);
        found[static_cast<std::size_t>(part)] = LEAF_WIDE(histogram_run)(input.data() + begin, end - begin, bins, tables.data() + part * size);
    });
    for (std::int64_t table = 0; table < parts * 2; ++table)
        for (std::int64_t i = 0; i < bins.count; ++i) out[i] += tables.data()[table * (bins.count + 1) + i];
    Moments total = nothing();
    for (const Moments& part : found) merge(total, part);
    return total;
}

nb::object histogram(const Input<float>& x, double low, double high, std::int64_t bins) {
    const Bins of = checked(low, high, bins);
    auto out = Output<std::int64_t>::row_major({bins});
    count_values(x, of, out.data());
    return out.to_python();
}

// The same with the extremes, and without counts where a finite value lies outside.
nb::tuple observed_histogram(const Input<float>& x, double low, double high, std::int64_t bins) {
    const Bins of = checked(low, high, bins);
    auto out = Output<std::int64_t>::row_major({bins});
    const Moments found = count_values(x, of, out.data());
    const bool inside = !found.finite || (found.least >= low && found.largest <= high);
    return nb::make_tuple(or_nan(found, found.least), or_nan(found, found.largest), found.nan, found.infinite,
                          inside ? out.to_python() : nb::none());
}

}  // namespace

void bind_statistics(nb::module_& module) {
    using nb::arg;
    module.def("min_max_nan_inf", &min_max_nan_inf, arg("x").noconvert());
    module.def("row_extremes", &row_extremes, arg("x").noconvert());
    module.def("statistics", &statistics, arg("x").noconvert());
    module.def("histogram", &histogram, arg("x").noconvert(), arg("low"), arg("high"), arg("bins"));
    module.def("observed_histogram", &observed_histogram, arg("x").noconvert(), arg("low"), arg("high"), arg("bins"));
}

}  // namespace workbench
