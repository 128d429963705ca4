// Elementwise ops over float32 and bfloat16. What comes out lies in memory as the (first full-sized) operand does.
#include "elementwise.hpp"

#include <algorithm>

#define WORKBENCH_LEAVES "leaves/elementwise.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "threads.hpp"
#include "broadcast.hpp"

namespace workbench {
namespace {

// Values from which another thread is worth waking. A step in mixed precision has fewer values to a call's time than one in
// floats, and more calls: its threads sleep between them, and take 50 microseconds to wake.
template <typename T>
constexpr std::int64_t worth_a_thread = sizeof(T) == 2 ? 65536 : 16384;

template <typename T>
nb::object unary(const Input<T>& x, Unary kind) {
    const Dims shape = shape_of(x);
    const std::int64_t count = count_of(shape);
    const Dims order = dense_strides_like(shape, strides_of(x));
    Output<T> out(shape, order);
    {
        KernelScope scope;
        const Dense<T> input(x, order);
        const bool light = kind == Unary::relu || kind == Unary::neg || kind == Unary::abs || kind == Unary::sqrt;
        const bool streamed = outgrows_caches(2 * count * sizeof(T) / 4);
        parallel_for(count, light ? worth_a_thread<T> : worth_a_thread<T> / 4, [&](std::int64_t begin, std::int64_t end) {
            LEAF_WIDE(unary_run<T>)(kind, input.data() + begin, end - begin, out.data() + begin,
                                 streamed);
        });
    }
    return out.to_python();
}

template <typename T>
nb::object binary(const Input<T>& a, const Input<T>& b, Binary kind) {
    const Dims shape = shape_of(a);
    const std::int64_t count = count_of(shape);
    const Dims order = dense_strides_like(shape, strides_of(a));
    Dims small = stretched_strides(shape_of(b), strides_of(b), shape);
    Output<T> out(shape, order);
    {
        KernelScope scope;
        const Dense<T> input(a, order);
        Broadcast walk = merge(shape, order, small);
        const T* other = b.data();
        Buffer<T> copy;
        if (walk.steps.back() != 0 && walk.steps.back() != 1) {  // not along memory: lay it out as the first operand
            copy = Buffer<T>(count);
            copy_strided(copy.data(), order, other, shape, small);
            other = copy.data();
            walk = merge(shape, order, order);
        }
        const std::int64_t run = walk.sizes.back(), step = walk.steps.back();
        const bool streamed = outgrows_caches(3 * count * sizeof(T) / 4);
        const auto rows = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row) {
                const T* from = other;
                std::int64_t rest = row;
                for (std::size_t i = walk.sizes.size() - 1; i-- > 0;) {
                    from += rest % walk.sizes[i] * walk.steps[i];
                    rest /= walk.sizes[i];
                }
                LEAF_WIDE(binary_run<T, T>)(kind, input.data() + row * run, from, step, run, out.data() + row * run, streamed && run >= 256);
            }
        };
        if (count && walk.sizes.size() == 2 && walk.steps[0] == 0 && step == 1 && run <= 2048) {
            // Channels: rows of one short pattern. Repeat it, so that the inner loop is worth its call.
            const std::int64_t repeats = std::max<std::int64_t>(1, 1024 / run), block = repeats * run;
            const Buffer<T> pattern(block);
            for (std::int64_t i = 0; i < repeats; ++i) std::copy_n(other, run, pattern.data() + i * run);
            parallel_for(count / run, grain_for(run), [&](std::int64_t begin, std::int64_t end) {
                LEAF_WIDE(binary_blocks<T>)(kind, input.data() + begin * run, pattern.data(), block, (end - begin) * run,
                                    out.data() + begin * run, streamed);
            });
        } else if (count && walk.sizes.size() > 1) {
            parallel_for(count / run, grain_for(run), rows);
        } else if (count) {
            parallel_for(run, worth_a_thread<T>, [&](std::int64_t begin, std::int64_t end) {
                LEAF_WIDE(binary_run<T, T>)(kind, input.data() + begin, other + begin * step, step, end - begin, out.data() + begin,
                                 streamed);
            });
        }
    }
    return out.to_python();
}

template <typename T>
nb::object binary_scalar(const Input<T>& a, float b, Binary kind) {
    const Dims shape = shape_of(a);
    const std::int64_t count = count_of(shape);
    const Dims order = dense_strides_like(shape, strides_of(a));
    Output<T> out(shape, order);
    {
        KernelScope scope;
        const Dense<T> input(a, order);
        const bool streamed = outgrows_caches(2 * count * sizeof(T) / 4);
        parallel_for(count, worth_a_thread<T>, [&](std::int64_t begin, std::int64_t end) {
            LEAF_WIDE(binary_run<T, float>)(kind, input.data() + begin, &b, 0, end - begin, out.data() + begin,
                                 streamed);
        });
    }
    return out.to_python();
}

void relu_into(const Target<float>& out, const Plain<float>& x) {
    const std::int64_t count = count_into(out, x);
    KernelScope scope;
    parallel_for(count, 16384, [&](std::int64_t begin, std::int64_t end) {
        LEAF_WIDE(unary_run<float>)(Unary::relu, x.data() + begin, end - begin, out.data() + begin, false);
    });
}

void fill(const Target<float>& out, float value) {
    const std::int64_t count = count_of(shape_of(out));
    KernelScope scope;
    parallel_for(count, 65536, [&](std::int64_t begin, std::int64_t end) {
        LEAF_WIDE(fill_run)(value, end - begin, out.data() + begin);
    });
}

// Values and gates lie beside each other along `dim`: [outer, 2, inner].
nb::object glu(const Input<float>& x, std::int64_t dim) {
    Dims shape = shape_of(x);
    if (dim < 0 || dim >= static_cast<std::int64_t>(shape.size()) || shape[dim] % 2)
        refuse("glu halves dim " + std::to_string(dim) + " of shape " + text(shape));
    const std::int64_t count = count_of(shape) / 2;
    shape[dim] /= 2;
    std::int64_t inner = 1;
    for (std::size_t i = dim; i < shape.size(); ++i) inner *= shape[i];
    auto out = Output<float>::row_major(shape);
    if (!count) return out.to_python();
    {
        KernelScope scope;
        const auto input = row_major(x);
        parallel_for(count / inner, grain_for(4 * inner), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t o = begin; o < end; ++o) {
                const float* from = input.data() + 2 * o * inner;
                LEAF_WIDE(glu_run)(from, from + inner, inner, out.data() + o * inner);
            }
        });
    }
    return out.to_python();
}

nb::object glu_gradient(const Input<float>& g, const Input<float>& x, std::int64_t dim) {
    const Dims shape = shape_of(x);
    if (dim < 0 || dim >= static_cast<std::int64_t>(shape.size()) || shape[dim] % 2)
        refuse("glu halves dim " + std::to_string(dim) + " of shape " + text(shape));
    Dims half = shape;
    half[dim] /= 2;
    if (shape_of(g) != half) refuse("a gradient of " + text(shape_of(g)) + " for an operand of " + text(shape));
    const std::int64_t count = count_of(half);
    std::int64_t inner = 1;
    for (std::size_t i = dim; i < half.size(); ++i) inner *= half[i];
    auto out = Output<float>::row_major(shape);
    if (!count) return out.to_python();
    {
        KernelScope scope;
        const auto input = row_major(x), gradient = row_major(g);
        parallel_for(count / inner, grain_for(6 * inner), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t o = begin; o < end; ++o) {
                const float* from = input.data() + 2 * o * inner;
                float* to = out.data() + 2 * o * inner;
                LEAF_WIDE(glu_gradient_run)(gradient.data() + o * inner, from, from + inner, inner, to, to + inner);
            }
        });
    }
    return out.to_python();
}

// What works on floats and on bfloat16 alike, into a module of the type's own.
template <typename T>
void bind_alike(nb::module_& module) {
    using nb::arg;
    static constexpr std::pair<const char*, Unary> unaries[] = {
        {"relu", Unary::relu}, {"neg", Unary::neg},   {"abs", Unary::abs},        {"exp", Unary::exp},
        {"tanh", Unary::tanh}, {"sqrt", Unary::sqrt}, {"sigmoid", Unary::sigmoid}, {"erf", Unary::erf}, {"ndtr", Unary::ndtr},
        {"gelu", Unary::gelu}, {"gelu_tanh", Unary::gelu_tanh}, {"silu", Unary::silu}};
    for (const auto& [name, kind] : unaries)
        module.def(
            name, [kind = kind](const Input<T>& x) { return unary<T>(x, kind); }, arg("x").noconvert());
    static constexpr std::pair<const char*, Binary> binaries[] = {{"add", Binary::add},
                                                                  {"sub", Binary::sub},
                                                                  {"mul", Binary::mul},
                                                                  {"div", Binary::div},
                                                                  {"reversed_sub", Binary::reversed_sub},
                                                                  {"reversed_div", Binary::reversed_div},
                                                                  {"maximum", Binary::maximum},
                                                                  {"minimum", Binary::minimum},
                                                                  {"relu_gradient", Binary::relu_gradient},
                                                                  {"tanh_gradient", Binary::tanh_gradient},
                                                                  {"sigmoid_gradient", Binary::sigmoid_gradient},
                                                                  {"gelu_gradient", Binary::gelu_gradient},
                                                                  {"gelu_tanh_gradient", Binary::gelu_tanh_gradient},
                                                                  {"silu_gradient", Binary::silu_gradient},
                                                                  {"prelu", Binary::prelu}};
    for (const auto& [name, kind] : binaries) {
        module.def(
            name, [kind = kind](const Input<T>& a, const Input<T>& b) { return binary<T>(a, b, kind); },
            arg("a").noconvert(), arg("b").noconvert());
        module.def(
            name, [kind = kind](const Input<T>& a, float b) { return binary_scalar<T>(a, b, kind); }, arg("a").noconvert(),
            arg("b"));
    }
}

}  // namespace

void sigmoid_of(const float* x, std::int64_t count, float* out) { LEAF_WIDE(unary_run<float>)(Unary::sigmoid, x, count, out, false); }

void bind_elementwise(nb::module_& module) {
    using nb::arg;
    module.def("glu", &glu, arg("x").noconvert(), nb::kw_only(), arg("dim"));
    module.def("glu_gradient", &glu_gradient, arg("g").noconvert(), arg("x").noconvert(), nb::kw_only(), arg("dim"));
    module.def("relu_into", &relu_into, arg("out").noconvert(), arg("x").noconvert());
    module.def("fill", &fill, arg("out").noconvert(), arg("value"));
    bind_alike<float>(module);
    nb::module_ half = bfloat16_module(module);
    bind_alike<bfloat16>(half);
}

}  // namespace workbench
