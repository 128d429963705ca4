// Loops over dense floats, or bfloat16 (`T`) computed in floats. Included once per instruction set; see dispatch.hpp.
#include "functions.inl"
#include "elementwise_functions.inl"

template <Unary kind, typename T>
static WORKBENCH_INLINE void map(const T* x, std::int64_t count, T* out, bool streamed) {
    const auto some = [&](std::int64_t i, std::int64_t rest) {
        store_some(out + i, function<kind>(load_some(x + i, rest)), rest);
    };
    if (streamed) {
        along(out, count, true, [&](std::int64_t i) { stream_floats(out + i, function<kind>(load_floats(x + i))); }, some);
        streams_done();
    } else {
        along(out, count, false, [&](std::int64_t i) { store_floats(out + i, function<kind>(load_floats(x + i))); }, some);
    }
}

template <typename T>
static void unary_run(Unary kind, const T* x, std::int64_t count, T* out, bool streamed) {
    switch (kind) {
        case Unary::relu: map<Unary::relu>(x, count, out, streamed); break;
        case Unary::neg: map<Unary::neg>(x, count, out, streamed); break;
        case Unary::abs: map<Unary::abs>(x, count, out, streamed); break;
        case Unary::sqrt: map<Unary::sqrt>(x, count, out, streamed); break;
        case Unary::exp: map<Unary::exp>(x, count, out, streamed); break;
        case Unary::tanh: map<Unary::tanh>(x, count, out, streamed); break;
        case Unary::sigmoid: map<Unary::sigmoid>(x, count, out, streamed); break;
        case Unary::erf: map<Unary::erf>(x, count, out, streamed); break;
        case Unary::ndtr: map<Unary::ndtr>(x, count, out, streamed); break;
        case Unary::gelu: map<Unary::gelu>(x, count, out, streamed); break;
        case Unary::gelu_tanh: map<Unary::gelu_tanh>(x, count, out, streamed); break;
        case Unary::silu: map<Unary::silu>(x, count, out, streamed); break;
    }
}

template <Binary kind, bool stretched, typename T, typename B>
static WORKBENCH_INLINE void map_two(const T* a, const B* b, std::int64_t count, T* out, bool streamed) {
    const floats one = all(stretched ? static_cast<float>(b[0]) : 0.f);
    const auto other = [&](std::int64_t i) { return stretched ? one : load_floats(b + i); };
    const auto some = [&](std::int64_t i, std::int64_t rest) {
        store_some(out + i, function<kind>(load_some(a + i, rest), stretched ? one : load_some(b + i, rest)), rest);
    };
    if (streamed) {
        along(out, count, true,
              [&](std::int64_t i) { stream_floats(out + i, function<kind>(load_floats(a + i), other(i))); }, some);
        streams_done();
    } else {
        along(out, count, false,
              [&](std::int64_t i) { store_floats(out + i, function<kind>(load_floats(a + i), other(i))); }, some);
    }
}

// out = a (op) b, where b is one value (b_step 0) or as long as a (b_step 1).
template <typename T, typename B>
static void binary_run(Binary kind, const T* a, const B* b, std::int64_t b_step, std::int64_t count, T* out, bool streamed) {
    if (count == 0) return;
#define WORKBENCH_BINARY(name)                                            \
    case Binary::name:                                                    \
        if (b_step)                                                       \
            map_two<Binary::name, false>(a, b, count, out, streamed);     \
        else                                                              \
            map_two<Binary::name, true>(a, b, count, out, streamed);      \
        break;
    switch (kind) {
        WORKBENCH_BINARY(add)
        WORKBENCH_BINARY(sub)
        WORKBENCH_BINARY(mul)
        WORKBENCH_BINARY(div)
        WORKBENCH_BINARY(reversed_sub)
        WORKBENCH_BINARY(reversed_div)
        WORKBENCH_BINARY(maximum)
        WORKBENCH_BINARY(minimum)
        WORKBENCH_BINARY(relu_gradient)
        WORKBENCH_BINARY(tanh_gradient)
        WORKBENCH_BINARY(sigmoid_gradient)
        WORKBENCH_BINARY(gelu_gradient)
        WORKBENCH_BINARY(gelu_tanh_gradient)
        WORKBENCH_BINARY(silu_gradient)
        WORKBENCH_BINARY(prelu)
    }
#undef WORKBENCH_BINARY
}

// The first `count` elements of out, which is cut into blocks as long as b: out = a (op) b, with b the same for each.
template <typename T>
static void binary_blocks(Binary kind, const T* a, const T* b, std::int64_t block, std::int64_t count, T* out, bool streamed) {
    for (std::int64_t i = 0; i < count; i += block)
        binary_run(kind, a + i, b, 1, count - i < block ? count - i : block, out + i, streamed);
}

static void fill_run(float value, std::int64_t count, float* out) {
    const floats one = all(value);
    along(
        count, [&](std::int64_t i) { store_floats(out + i, one); },
        [&](std::int64_t i, std::int64_t n) { store_some(out + i, one, n); });
}

// out = value logistic(gate), and both gradients.
static void glu_run(const float* value, const float* gate, std::int64_t count, float* out) {
    along(
        count, [&](std::int64_t i) { store_floats(out + i, load_floats(value + i) * logistic(load_floats(gate + i))); },
        [&](std::int64_t i, std::int64_t n) { store_some(out + i, load_some(value + i, n) * logistic(load_some(gate + i, n)), n); });
}
static void glu_gradient_run(const float* g, const float* value, const float* gate, std::int64_t count, float* to_value,
                             float* to_gate) {
    along(
        count,
        [&](std::int64_t i) {
            const floats share = logistic(load_floats(gate + i)), passed = load_floats(g + i) * share;
            store_floats(to_value + i, passed);
            store_floats(to_gate + i, passed * load_floats(value + i) * (1.f - share));
        },
        [&](std::int64_t i, std::int64_t n) {
            const floats share = logistic(load_some(gate + i, n)), passed = load_some(g + i, n) * share;
            store_some(to_value + i, passed, n);
            store_some(to_gate + i, passed * load_some(value + i, n) * (1.f - share), n);
        });
}
