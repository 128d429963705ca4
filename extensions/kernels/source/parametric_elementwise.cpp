// Elementwise ops over float32 whose shape numbers decide, and the choice between two operands.
#include "parametric_elementwise.hpp"

#define WORKBENCH_LEAVES "leaves/parametric_elementwise.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

nb::object shaped(const Input<float>& x, Shaped kind, float p, float q, float r) {
    const Dims shape = shape_of(x);
    const std::int64_t count = count_of(shape);
    const Dims order = dense_strides_like(shape, strides_of(x));
    Output<float> out(shape, order);
    {
        KernelScope scope;
        const Dense<float> input(x, order);
        const float numbers[3] = {p, q, r};
        const bool heavy = kind == Shaped::elu || kind == Shaped::softplus || kind == Shaped::logsigmoid ||
                           kind == Shaped::mish;
        const bool streamed = outgrows_caches(2 * count);
        parallel_for(count, heavy ? 4096 : 16384, [&](std::int64_t begin, std::int64_t end) {
            LEAF_WIDE(shaped_run)(kind, input.data() + begin, numbers, end - begin, out.data() + begin, streamed);
        });
    }
    return out.to_python();
}

void clamp_into(const Target<float>& out, const Plain<float>& x, float low, float high) {
    const std::int64_t count = count_into(out, x);
    const float numbers[3] = {low, high, 0.f};
    KernelScope scope;
    parallel_for(count, 16384, [&](std::int64_t begin, std::int64_t end) {
        LEAF_WIDE(shaped_run)(Shaped::clamp, x.data() + begin, numbers, end - begin, out.data() + begin, false);
    });
}

nb::object passed(const Input<float>& g, const Input<float>& x, Passed kind, float p, float q, float r) {
    const Dims shape = shape_of(x);
    if (shape_of(g) != shape) refuse("a gradient of " + text(shape_of(g)) + " for an operand of " + text(shape));
    const std::int64_t count = count_of(shape);
    const Dims order = dense_strides_like(shape, strides_of(x));
    Output<float> out(shape, order);
    {
        KernelScope scope;
        const Dense<float> gradient(g, order), input(x, order);
        const float numbers[3] = {p, q, r};
        const bool light = kind == Passed::between || kind == Passed::within || kind == Passed::beyond || kind == Passed::above ||
                           kind == Passed::leaky_relu || kind == Passed::hardswish;
        const bool streamed = outgrows_caches(3 * count);
        parallel_for(count, light ? 16384 : 4096, [&](std::int64_t begin, std::int64_t end) {
            LEAF_WIDE(passed_run)(kind, gradient.data() + begin, input.data() + begin, numbers, end - begin, out.data() + begin,
                                  streamed);
        });
    }
    return out.to_python();
}

// An operand of `where`: as large as the condition, or one value.
bool goes_along(const Input<float>& one, const Dims& shape) {
    const Dims own = shape_of(one);
    if (own == shape) return true;
    if (count_of(own) != 1) refuse("where of " + text(own) + " by conditions " + text(shape));
    return false;
}

nb::object where(const Input<std::uint8_t>& condition, const Input<float>& a, const Input<float>& b) {
    const Dims shape = shape_of(condition);
    const std::int64_t count = count_of(shape);
    const bool a_along = goes_along(a, shape), b_along = goes_along(b, shape);
    auto out = Output<float>::row_major(shape);
    {
        KernelScope scope;
        const auto chosen = row_major(condition);
        const auto first = row_major(a), second = row_major(b);
        parallel_for(count, 16384, [&](std::int64_t begin, std::int64_t end) {
            LEAF_WIDE(where_run)(chosen.data() + begin, first.data() + (a_along ? begin : 0), a_along, second.data() + (b_along ? begin : 0),
                                 b_along, end - begin, out.data() + begin);
        });
    }
    return out.to_python();
}

}  // namespace

void softplus_of(const float* x, double beta, double threshold, std::int64_t count, float* out) {
    const float numbers[3] = {static_cast<float>(beta), static_cast<float>(threshold), 0.f};
    LEAF_WIDE(shaped_run)(Shaped::softplus, x, numbers, count, out, false);
}

void bind_shaped(nb::module_& module) {
    using nb::arg;
    static constexpr std::pair<const char*, Shaped> kinds[] = {
        {"clamp", Shaped::clamp},           {"leaky_relu", Shaped::leaky_relu}, {"elu", Shaped::elu},
        {"softplus", Shaped::softplus},     {"logsigmoid", Shaped::logsigmoid}, {"rsqrt", Shaped::rsqrt},
        {"hardsigmoid", Shaped::hardsigmoid}, {"hardswish", Shaped::hardswish}, {"mish", Shaped::mish},
        {"softshrink", Shaped::softshrink}, {"hardshrink", Shaped::hardshrink}, {"threshold", Shaped::threshold},
        {"cube", Shaped::cube},             {"reciprocal", Shaped::reciprocal},
        {"inverse_square", Shaped::inverse_square}};
    for (const auto& [name, kind] : kinds)
        module.def(
            name, [kind = kind](const Input<float>& x, float p, float q, float r) { return shaped(x, kind, p, q, r); },
            arg("x").noconvert(), arg("p") = 0.f, arg("q") = 0.f, arg("r") = 0.f);
    module.def("clamp_into", &clamp_into, arg("out").noconvert(), arg("x").noconvert(), arg("low"), arg("high"));
    static constexpr std::pair<const char*, Passed> gradients[] = {
        {"between", Passed::between}, {"within", Passed::within},   {"beyond", Passed::beyond},         {"above", Passed::above},
        {"leaky_relu_gradient", Passed::leaky_relu}, {"elu_gradient", Passed::elu}, {"softplus_gradient", Passed::softplus},
        {"logsigmoid_gradient", Passed::logsigmoid}, {"hardswish_gradient", Passed::hardswish}, {"mish_gradient", Passed::mish}};
    for (const auto& [name, kind] : gradients)
        module.def(
            name,
            [kind = kind](const Input<float>& g, const Input<float>& x, float p, float q, float r) {
                return passed(g, x, kind, p, q, r);
            },
            arg("g").noconvert(), arg("x").noconvert(), arg("p") = 0.f, arg("q") = 0.f, arg("r") = 0.f);
    module.def("where", &where, arg("condition").noconvert(), arg("a").noconvert(), arg("b").noconvert());
}

}  // namespace workbench
