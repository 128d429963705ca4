// Dropout and other decisions by chance: a hash of each place and a seed, so that nothing is kept for the gradient.
#include "dropout.hpp"

#include "counter_based_random.hpp"
#define WORKBENCH_LEAVES "leaves/dropout.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "threads.hpp"
#include "broadcast.hpp"

namespace workbench {
namespace {

using Range = std::pair<std::int64_t, std::int64_t>;

// By how much a step along each dimension moves the place: those in `drawn` count places in row-major order.
Dims place_steps(const Dims& shape, const Range& drawn) {
    if (drawn.first < 0 || drawn.second < drawn.first || drawn.second > static_cast<std::int64_t>(shape.size()))
        refuse("places drawn along dims " + std::to_string(drawn.first) + " to " + std::to_string(drawn.second) + " of shape " + text(shape));
    Dims steps(shape.size(), 0);
    std::int64_t step = 1;
    for (std::int64_t i = drawn.second; i-- > drawn.first;) steps[i] = step, step *= shape[i];
    return steps;
}

// Calls body(first, count, place, step) for runs of dense memory that lies in the given order.
template <typename Body>
void over_places(const Dims& shape, const Dims& order, const Range& drawn, Body&& body) {
    const std::int64_t count = count_of(shape);
    const Broadcast walk = merge(shape, order, place_steps(shape, drawn));
    if (!count) return;
    const std::int64_t run = walk.sizes.back(), step = walk.steps.back();
    if (walk.sizes.size() == 1) {
        parallel_for(run, 8192, [&](std::int64_t begin, std::int64_t end) {
            body(begin, end - begin, static_cast<std::uint32_t>(begin * step), static_cast<std::uint32_t>(step));
        });
        return;
    }
    parallel_for(count / run, grain_for(2 * run), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
            std::int64_t rest = row, place = 0;
            for (std::size_t i = walk.sizes.size() - 1; i-- > 0;) {
                place += rest % walk.sizes[i] * walk.steps[i];
                rest /= walk.sizes[i];
            }
            body(row * run, run, static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(step));
        }
    });
}

}  // namespace

template <typename T>
void drop_values(const T* x, const Dims& shape, const Dims& strides, double p, std::uint64_t seed, const Range& drawn, const Kept& kept,
                 T* out) {
    const CounterBasedRandom random(seed, p);
    const bool streamed = outgrows_caches(2 * count_of(shape) * static_cast<std::int64_t>(sizeof(T)) / 4);
    over_places(shape, strides, drawn, [&](std::int64_t first, std::int64_t count, std::uint32_t place, std::uint32_t step) {
        LEAF_WIDE(dropout_run<T>)(x + first, count, random, place, step, static_cast<float>(kept.scale), static_cast<float>(kept.high),
                                  static_cast<float>(kept.low), out + first, streamed && count >= 256);
    });
}

template void drop_values<float>(const float*, const Dims&, const Dims&, double, std::uint64_t, const Range&, const Kept&, float*);

namespace {

template <typename T>
nb::object dropout(const Input<T>& x, double p, std::uint64_t seed, const Range& drawn, double scale, double high, double low) {
    const Dims shape = shape_of(x), order = dense_strides_like(shape, strides_of(x));
    Output<T> out(shape, order);
    {
        KernelScope scope;
        const Dense<T> input(x, order);
        drop_values<T>(input.data(), shape, order, p, seed, drawn, {scale, high, low}, out.data());
    }
    return out.to_python();
}

nb::object rrelu_gradient(const Input<float>& g, const Input<float>& x, double lower, double upper, std::uint64_t seed,
                          const Range& drawn) {
    const Dims shape = shape_of(x), order = dense_strides_like(shape, strides_of(x));
    if (shape_of(g) != shape) refuse("a gradient of " + text(shape_of(g)) + " for an operand of " + text(shape));
    Output<float> out(shape, order);
    {
        KernelScope scope;
        const Dense<float> gradient(g, order), input(x, order);
        const CounterBasedRandom random(seed);
        const bool streamed = outgrows_caches(3 * count_of(shape));
        over_places(shape, order, drawn, [&](std::int64_t first, std::int64_t count, std::uint32_t place, std::uint32_t step) {
            LEAF_WIDE(rrelu_run)(gradient.data() + first, input.data() + first, count, random, place, step,
                                 static_cast<float>(lower), static_cast<float>(upper - lower), out.data() + first,
                                 streamed && count >= 256);
        });
    }
    return out.to_python();
}

}  // namespace

void bind_dropout_ops(nb::module_& module) {
    using nb::arg;
    const auto of_type = [](nb::module_& place, auto run) {
        place.def("dropout", run, arg("x").noconvert(), nb::kw_only(), arg("p"), arg("seed"), arg("drawn"), arg("scale"),
                  arg("high") = 0.0, arg("low") = 0.0);
    };
    nb::module_ half = bfloat16_module(module);
    of_type(module, &dropout<float>);
    of_type(half, &dropout<bfloat16>);
    module.def("rrelu_gradient", &rrelu_gradient, arg("g").noconvert(), arg("x").noconvert(), nb::kw_only(), arg("lower"),
               arg("upper"), arg("seed"), arg("drawn"));
    module.def(
        "rrelu",
        [](const Input<float>& x, double lower, double upper, std::uint64_t seed, const Range& drawn) {
            return rrelu_gradient(x, x, lower, upper, seed, drawn);
        },
        arg("x").noconvert(), nb::kw_only(), arg("lower"), arg("upper"), arg("seed"), arg("drawn"));
}

}  // namespace workbench
