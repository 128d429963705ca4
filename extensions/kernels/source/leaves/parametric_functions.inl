// The functions of parametric_elementwise.hpp, of registers. Included once per instruction set, behind functions.inl.

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
    const floats found = magnitude(x) < 0.75f ? x + x * x * series : exponential(x) - 1.f;
    return x == 0.f ? x : found;  // either zero is its own
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
    if constexpr (kind == Shaped::elu) return x < 0.f ? exponential_less_one((x > 0.f ? all(0.f) : x) * r) * p : x * q;
    if constexpr (kind == Shaped::softplus) {
        const floats scaled = x * p;
        return scaled > q ? x : softly_above(scaled) / p;
    }
    if constexpr (kind == Shaped::logsigmoid) return 0.f - softly_above(-x);  // at infinity 0, not -0
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
