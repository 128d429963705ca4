// Negative log-likelihood of a class for each place, weighted by class, and its gradient: one number is read of each column.
#include "nll_loss.hpp"

#include <algorithm>
#include <limits>

#include "threads.hpp"

namespace workbench {
namespace {

// A class for each place of [N, C, …], checked: which count, and what for. Weights are null where there are none.
template <typename T>
struct Places {
    const std::int64_t* targets;
    const T* weights;
    std::int64_t classes, count, ignored;
    // Whether some classes may not count. Only then does a weight of zero leave out what it weighs, which may be infinite.
    bool some_ignored;

    Places(const std::int64_t* target, const T* weight, const Dims& sizes, std::int64_t ignored)
        : targets(target), weights(weight), classes(sizes[1]), count(count_of(sizes) / std::max<std::int64_t>(1, sizes[1])), ignored(ignored) {
        std::int64_t low = std::numeric_limits<std::int64_t>::max(), high = std::numeric_limits<std::int64_t>::min();
        bool met = false;
        for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t one = targets[i];
            const bool left = one == ignored;
            met |= left;
            low = std::min(low, left ? low : one), high = std::max(high, left ? high : one);
        }
        if (low < 0) throw nb::index_error(std::to_string(low).c_str());
        if (high >= classes) throw nb::index_error(std::to_string(high).c_str());
        some_ignored = met || (0 <= ignored && ignored < classes);
    }
    bool counts(std::int64_t place) const { return targets[place] != ignored; }
    T weight_of(std::int64_t place) const {
        if (!counts(place)) return T(0);
        return weights ? weights[targets[place]] : T(1);
    }
    double total() const {
        double sum = 0;
        for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(weight_of(i));
        return sum;
    }
};

// How the values of [N, C, …] lie: the dims behind C follow each other with one step, in memory of ours if need be.
template <typename T>
struct Columns {
    std::optional<Dense<T>> copy;
    const T* data;
    std::int64_t sample_step, class_step, step = 1, width = 1;

    Columns(const T* x, const Dims& sizes) : data(x) {
        for (std::size_t i = 2; i < sizes.size(); ++i) width *= sizes[i];
        sample_step = sizes[1] * width, class_step = width;
    }
    explicit Columns(const Input<T>& x) : data(x.data()) {
        const Dims shape = shape_of(x);
        Dims strides = strides_of(x);
        for (std::size_t i = 2; i < shape.size(); ++i) width *= shape[i];
        bool even = true;
        for (std::size_t i = 2; i + 1 < shape.size(); ++i) even = even && strides[i] == strides[i + 1] * shape[i + 1];
        if (!even) copy.emplace(row_major(x)), data = copy->data(), strides = row_major_strides(shape);
        sample_step = strides[0], class_step = strides[1];
        if (shape.size() > 2) step = strides.back();
    }
};

template <typename T>
void likelihood(const Places<T>& places, const Columns<T>& values, const std::string& reduction, T* out) {
    const bool each = reduction == "none";
    // One after the other, sums would wait for each other.
    constexpr std::int64_t beside = 4;
    double total[beside] = {}, weight_total[beside] = {};
    for (std::int64_t i = 0; i < places.count;) {
        const T* const sample = values.data + i / values.width * values.sample_step;
        for (std::int64_t place = 0; place < values.width; ++place, ++i) {
            const T counts = places.weight_of(i);
            T loss = 0;
            if (counts != 0 || !places.some_ignored) loss = -sample[places.targets[i] * values.class_step + place * values.step] * counts;
            if (each)
                out[i] = loss;
            else
                total[i % beside] += static_cast<double>(loss), weight_total[i % beside] += static_cast<double>(counts);
        }
    }
    const auto sum = [](const double* parts) { return (parts[0] + parts[1]) + (parts[2] + parts[3]); };
    if (!each) *out = static_cast<T>(reduction == "mean" ? sum(total) / sum(weight_total) : sum(total));
}

template <typename T>
void likelihood_gradient(const Places<T>& places, const T* slopes, const Dims& sizes, const std::string& reduction, T* out) {
    const bool each = reduction == "none";
    const std::int64_t size = count_of(sizes), width = places.count / std::max<std::int64_t>(1, sizes[0]);
    parallel_for(size, grain_for(1), [&](std::int64_t begin, std::int64_t end) { std::fill(out + begin, out + end, T(0)); });
    const T share = reduction == "mean" ? static_cast<T>(places.total()) : T(1);
    for (std::int64_t i = 0; i < places.count; ++i) {
        if (!places.counts(i)) continue;
        out[(i / width * places.classes + places.targets[i]) * width + i % width] = -slopes[each ? i : 0] * places.weight_of(i) / share;
    }
}

// What Python gives.
template <typename T>
struct Given {
    Dense<std::int64_t> targets;
    std::optional<Dense<T>> weights;

    Given(const Input<std::int64_t>& target, const std::optional<Input<T>>& weight, const Dims& sizes) : targets(row_major(target)) {
        Dims places = sizes;
        if (sizes.size() > 1) places.erase(places.begin() + 1);
        if (sizes.size() < 2 || shape_of(target) != places) refuse("nll_loss of values " + text(sizes) + " and classes " + text(shape_of(target)));
        if (weight) {
            if (shape_of(*weight) != Dims{sizes[1]}) refuse("nll_loss of " + std::to_string(sizes[1]) + " classes and weights " + text(shape_of(*weight)));
            weights.emplace(row_major(*weight));
        }
    }
    Places<T> places(const Dims& sizes, std::int64_t ignored) const {
        return Places<T>(targets.data(), weights ? weights->data() : nullptr, sizes, ignored);
    }
};

template <typename T>
nb::object nll_loss(const Input<T>& x, const Input<std::int64_t>& target, const std::optional<Input<T>>& weight, const std::string& reduction,
                    std::int64_t ignore_index) {
    const Given<T> given(target, weight, shape_of(x));
    const Places<T> places = given.places(shape_of(x), ignore_index);
    auto losses = Output<T>::row_major(reduction == "none" ? shape_of(target) : Dims{});
    {
        KernelScope scope(places.count);
        likelihood<T>(places, Columns<T>(x), reduction, losses.data());
    }
    return losses.to_python();
}

template <typename T>
nb::object nll_loss_gradient(const Input<T>& gradient, const Input<std::int64_t>& target, const std::optional<Input<T>>& weight,
                             const Dims& sizes, const std::string& reduction, std::int64_t ignore_index) {
    const Given<T> given(target, weight, sizes);
    const Places<T> places = given.places(sizes, ignore_index);
    if (shape_of(gradient) != (reduction == "none" ? shape_of(target) : Dims{}))
        refuse("nll_loss gradient has shape " + text(shape_of(gradient)) + " for classes " + text(shape_of(target)));
    auto out = Output<T>::row_major(sizes);
    {
        KernelScope scope(count_of(sizes));
        const auto slopes = row_major(gradient);
        likelihood_gradient<T>(places, slopes.data(), sizes, reduction, out.data());
    }
    return out.to_python();
}

template <typename T>
void bind_for(nb::module_& module) {
    using nb::arg;
    module.def("nll_loss", &nll_loss<T>, arg("x").noconvert(), arg("target").noconvert(), arg("weight").noconvert().none() = nb::none(),
               nb::kw_only(), arg("reduction"), arg("ignore_index"));
    module.def("nll_loss_gradient", &nll_loss_gradient<T>, arg("gradient").noconvert(), arg("target").noconvert(),
               arg("weight").noconvert().none() = nb::none(), nb::kw_only(), arg("sizes"), arg("reduction"), arg("ignore_index"));
}

}  // namespace

void nll_loss_of(const float* x, const Dims& sizes, const std::int64_t* target, const float* weight, const std::string& reduction,
                 std::int64_t ignored, float* out) {
    likelihood<float>(Places<float>(target, weight, sizes, ignored), Columns<float>(x, sizes), reduction, out);
}

void nll_loss_of_gradient(const float* gradient, const Dims& sizes, const std::int64_t* target, const float* weight,
                          const std::string& reduction, std::int64_t ignored, float* gx) {
    likelihood_gradient<float>(Places<float>(target, weight, sizes, ignored), gradient, sizes, reduction, gx);
}

void bind_nll_loss(nb::module_& module) {
    bind_for<float>(module);
    bind_for<double>(module);
}

}  // namespace workbench
