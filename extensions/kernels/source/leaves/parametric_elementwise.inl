// Functions of one operand and at most three numbers. Included once per instruction set; see dispatch.hpp.
#include "functions.inl"

static WORKBENCH_INLINE floats square_root(floats x) {
#if defined(WORKBENCH_AVX512)
    return (floats)_mm512_sqrt_ps((__m512)x);
#elif defined(WORKBENCH_AVX2)
    return (floats)_mm256_sqrt_ps((__m256)x);
#else
    floats y = x;
    for (int lane = 0; lane < lanes; ++lane) y[lane] = __builtin_sqrtf(x[lane]);
    return y;
#endif
}

// e^x - 1: a series near 0, where a difference would lose digits.
static WORKBENCH_INLINE floats exponential_less_one(floats x) {
    floats series = all(1.f / 3628800.f);
    series = series * x + 1.f / 362880.f;
    series = series * x + 1.f / 40320.f;
    series = series * x + 1.f / 5040.f;
    series = series * x + 1.f / 720.f;
    series = series * x + 1.f / 120.f;
    series = series * x + 1.f / 24.f;
    series = series * x + 1.f / 6.f;
    series = series * x + 0.5f;
    return magnitude(x) < 0.75f ? x + x * x * series : exponential(x) - 1.f;
}

// ln(1 + e^x), without overflow on either side.
static WORKBENCH_INLINE floats softly_above(floats x) {
    const floats rest = logarithm_of_one_and(exponential(-magnitude(x)));
    return x > 0.f ? x + rest : (x != x ? x : rest);
}

// min(max(x + 3, 0), 6); NaN stays.
static WORKBENCH_INLINE floats six_at_most(floats x) {
    const floats moved = x + 3.f, above = moved < 0.f ? all(0.f) : moved;
    return above > 6.f ? all(6.f) : above;
}

// tanh(ln(1 + e^x)), and what it lacks of 1: n / (n + 2) and 2 / (n + 2), n = e^x (e^x + 2). Beyond 20 it lacks nothing that
// a float could hold, however large the x that it is multiplied by.
static WORKBENCH_INLINE floats mish_share(floats x, floats& rest) {
    const floats power = exponential(x > 20.f ? all(20.f) : x), n = power * (power + 2.f);
    rest = x > 20.f ? all(0.f) : 2.f / (n + 2.f);
    return n / (n + 2.f);
}

template <Shaped kind>
static WORKBENCH_INLINE floats shaped(floats x, floats p, floats q, floats r) {
    if constexpr (kind == Shaped::clamp) {  // NaN stays; where the bounds cross, the upper one holds
        const floats above = x < p ? p : x;
        return above > q ? q : above;
    }
    if constexpr (kind == Shaped::leaky_relu) return x > 0.f ? x : x * p;
    if constexpr (kind == Shaped::elu) return x > 0.f ? x * q : exponential_less_one((x > 0.f ? all(0.f) : x) * r) * p;
    if constexpr (kind == Shaped::softplus) {
        const floats scaled = x * p;
        return scaled > q ? x : softly_above(scaled) / p;
    }
    if constexpr (kind == Shaped::logsigmoid) return -softly_above(-x);
    if constexpr (kind == Shaped::hardsigmoid) return six_at_most(x) / 6.f;
    if constexpr (kind == Shaped::hardswish) return x * (six_at_most(x) / 6.f);
    if constexpr (kind == Shaped::mish) {
        floats rest;
        return x * mish_share(x, rest);
    }
    if constexpr (kind == Shaped::softshrink) {  // NaN stays
        const floats above = x < -p ? all(0.f) - p : x;
        return x - (above > p ? p : above);
    }
    if constexpr (kind == Shaped::hardshrink) return x >= -p ? (x <= p ? all(0.f) : x) : x;
    if constexpr (kind == Shaped::threshold) return x <= p ? q : x;
    if constexpr (kind == Shaped::rsqrt) return 1.f / square_root(x);
    if constexpr (kind == Shaped::cube) return x * x * x;
    if constexpr (kind == Shaped::reciprocal) return 1.f / x;
    if constexpr (kind == Shaped::inverse_square) return (1.f / x) * (1.f / x);
}

template <Shaped kind>
static WORKBENCH_INLINE void map(const float* x, const float* numbers, std::int64_t count, float* out, bool streamed) {
    const floats p = all(numbers[0]), q = all(numbers[1]), r = all(numbers[2]);
    const auto some = [&](std::int64_t i, std::int64_t rest) {
        store_some(out + i, shaped<kind>(load_some(x + i, rest), p, q, r), rest);
    };
    if (streamed) {
        along(out, count, true, [&](std::int64_t i) { stream_floats(out + i, shaped<kind>(load_floats(x + i), p, q, r)); }, some);
        streams_done();
    } else {
        along(out, count, false, [&](std::int64_t i) { store_floats(out + i, shaped<kind>(load_floats(x + i), p, q, r)); }, some);
    }
}

static void shaped_run(Shaped kind, const float* x, const float* numbers, std::int64_t count, float* out, bool streamed) {
#define WORKBENCH_SHAPED(name) \
    case Shaped::name: map<Shaped::name>(x, numbers, count, out, streamed); break;
    switch (kind) {
        WORKBENCH_SHAPED(clamp)
        WORKBENCH_SHAPED(leaky_relu)
        WORKBENCH_SHAPED(elu)
        WORKBENCH_SHAPED(softplus)
        WORKBENCH_SHAPED(logsigmoid)
        WORKBENCH_SHAPED(hardsigmoid)
        WORKBENCH_SHAPED(hardswish)
        WORKBENCH_SHAPED(mish)
        WORKBENCH_SHAPED(softshrink)
        WORKBENCH_SHAPED(hardshrink)
        WORKBENCH_SHAPED(threshold)
        WORKBENCH_SHAPED(rsqrt)
        WORKBENCH_SHAPED(cube)
        WORKBENCH_SHAPED(reciprocal)
        WORKBENCH_SHAPED(inverse_square)
    }
#undef WORKBENCH_SHAPED
}

template <Passed kind>
static WORKBENCH_INLINE floats passed(floats g, floats x, floats p, floats q, floats r) {
    const floats none = all(0.f);
    // Where x is NaN, what PyTorch's formulas do with it: some let the gradient through, some do not.
    if constexpr (kind == Passed::between) return x <= p ? none : (x >= q ? none : g);
    if constexpr (kind == Passed::within) return x > p ? (x < q ? g * r : none) : none;
    if constexpr (kind == Passed::beyond) return x >= -p ? (x <= p ? none : g) : g;
    if constexpr (kind == Passed::above) return x <= p ? none : g;
    if constexpr (kind == Passed::leaky_relu) return x > 0.f ? g : g * p;
    if constexpr (kind == Passed::elu) return g * (x <= 0.f ? exponential((x > 0.f ? none : x) * r) * p : q);
    if constexpr (kind == Passed::softplus) {
        const floats scaled = x * p;
        return scaled > q ? g : g * logistic(scaled);
    }
    if constexpr (kind == Passed::logsigmoid) return g * logistic(-x);
    if constexpr (kind == Passed::hardswish) return x <= -3.f ? none : (x >= 3.f ? g : g * (x / 3.f + 0.5f));
    if constexpr (kind == Passed::mish) {
        floats rest;
        const floats share = mish_share(x, rest);
        return g * (share + x * logistic(x) * (rest * (1.f + share)));
    }
}

template <Passed kind>
static WORKBENCH_INLINE void map_passed(const float* g, const float* x, const float* numbers, std::int64_t count, float* out,
                                        bool streamed) {
    const floats p = all(numbers[0]), q = all(numbers[1]), r = all(numbers[2]);
    const auto some = [&](std::int64_t i, std::int64_t rest) {
        store_some(out + i, passed<kind>(load_some(g + i, rest), load_some(x + i, rest), p, q, r), rest);
    };
    const auto whole = [&](std::int64_t i) { return passed<kind>(load_floats(g + i), load_floats(x + i), p, q, r); };
    if (streamed) {
        along(out, count, true, [&](std::int64_t i) { stream_floats(out + i, whole(i)); }, some);
        streams_done();
    } else {
        along(out, count, false, [&](std::int64_t i) { store_floats(out + i, whole(i)); }, some);
    }
}

static void passed_run(Passed kind, const float* g, const float* x, const float* numbers, std::int64_t count, float* out,
                       bool streamed) {
#define WORKBENCH_PASSED(name) \
    case Passed::name: map_passed<Passed::name>(g, x, numbers, count, out, streamed); break;
    switch (kind) {
        WORKBENCH_PASSED(between)
        WORKBENCH_PASSED(within)
        WORKBENCH_PASSED(beyond)
        WORKBENCH_PASSED(above)
        WORKBENCH_PASSED(leaky_relu)
        WORKBENCH_PASSED(elu)
        WORKBENCH_PASSED(softplus)
        WORKBENCH_PASSED(logsigmoid)
        WORKBENCH_PASSED(hardswish)
        WORKBENCH_PASSED(mish)
    }
#undef WORKBENCH_PASSED
}

// out = condition ? a : b; a step of 0 repeats one value. Without a branch: conditions are seldom foreseeable.
template <int a_step, int b_step>
static WORKBENCH_INLINE void choose(const unsigned char* condition, const float* a, const float* b, std::int64_t count, float* out) {
    const float one_a = a[0], one_b = b[0];
    for (std::int64_t i = 0; i < count; ++i) {
        const float x = a_step ? a[i] : one_a, y = b_step ? b[i] : one_b;
        out[i] = condition[i] ? x : y;
    }
}

static void where_run(const unsigned char* condition, const float* a, bool a_along, const float* b, bool b_along, std::int64_t count,
                      float* out) {
    if (count == 0) return;
    if (a_along && b_along)
        choose<1, 1>(condition, a, b, count, out);
    else if (a_along)
        choose<1, 0>(condition, a, b, count, out);
    else if (b_along)
        choose<0, 1>(condition, a, b, count, out);
    else
        choose<0, 0>(condition, a, b, count, out);
}
