// Functions of doubles, each to about 2 units in the last place, and loops over them. Included once per instruction set;
// see dispatch.hpp.

#ifdef WORKBENCH_AVX512
constexpr int double_lanes = 8;
#else
constexpr int double_lanes = 4;
#endif
typedef double doubles __attribute__((vector_size(8 * double_lanes)));
typedef double doubles_unaligned __attribute__((vector_size(8 * double_lanes), aligned(8), may_alias));
typedef std::int64_t longs __attribute__((vector_size(8 * double_lanes)));

static WORKBENCH_INLINE doubles every(double v) { return doubles{} + v; }
static WORKBENCH_INLINE doubles size_of(doubles x) { return (doubles)((longs)x & 0x7fffffffffffffff); }
static WORKBENCH_INLINE doubles with_sign_of(doubles value, doubles x) {
    return (doubles)((longs)value | ((longs)x & (std::int64_t)0x8000000000000000));
}

static WORKBENCH_INLINE doubles doubles_at(const double* p, std::int64_t count) {
    if (count == double_lanes) return *reinterpret_cast<const doubles_unaligned*>(p);
    doubles v = every(0.0);
    for (std::int64_t i = 0; i < count; ++i) v[i] = p[i];
    return v;
}
static WORKBENCH_INLINE void put_doubles(double* p, doubles v, std::int64_t count) {
    if (count == double_lanes)
        *reinterpret_cast<doubles_unaligned*>(p) = v;
    else
        for (std::int64_t i = 0; i < count; ++i) p[i] = v[i];
}

// Calls step(i, count) for whole vectors, with a count that is known when this is compiled, and for what is left.
template <typename Step>
static WORKBENCH_INLINE void each_double(std::int64_t size, Step&& step) {
    std::int64_t i = 0;
    for (; i + double_lanes <= size; i += double_lanes) step(i, std::int64_t{double_lanes});
    if (i < size) step(i, size - i);
}

// Adding it rounds to the nearest integer, which then stands in the lowest bits.
constexpr double rounding = 6755399441055744.0;  // 1.5 * 2^52

// e^r - 1 where |r| <= ln2 / 2: its series.
static WORKBENCH_INLINE doubles small_exponential(doubles r) {
    doubles series = every(1.0 / 6227020800.0);
    series = series * r + 1.0 / 479001600.0;
    series = series * r + 1.0 / 39916800.0;
    series = series * r + 1.0 / 3628800.0;
    series = series * r + 1.0 / 362880.0;
    series = series * r + 1.0 / 40320.0;
    series = series * r + 1.0 / 5040.0;
    series = series * r + 1.0 / 720.0;
    series = series * r + 1.0 / 120.0;
    series = series * r + 1.0 / 24.0;
    series = series * r + 1.0 / 6.0;
    series = series * r + 0.5;
    return r + r * r * series;
}

// x = n ln2 + r, where n ln2 is taken off in two parts of which the first is exact.
static WORKBENCH_INLINE doubles without_powers(doubles x, doubles& shifted) {
    shifted = x * 1.44269504088896338700e+00 + rounding;
    const doubles n = shifted - rounding;
    return (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
}
// 2^n, of n + rounding; n lies between -1022 and 1023.
static WORKBENCH_INLINE doubles power_of_two(doubles shifted) { return (doubles)(((longs)shifted + 1023) << 52); }

// e^x for x <= 0.
static WORKBENCH_INLINE doubles falling_exponential(doubles x) {
    const doubles bounded = x < -746.0 ? every(-746.0) : x;  // NaN stays
    const longs low = bounded < -700.0;  // 2^n would be too small for a number of full precision: it is put together of two
    doubles shifted;
    const doubles r = without_powers(bounded, shifted);
    return (1.0 + small_exponential(r)) * power_of_two(shifted + (low ? every(200.0) : every(0.0))) *
           (low ? every(0x1p-200) : every(1.0));
}

static WORKBENCH_INLINE doubles logistic(doubles x) {
    const doubles e = falling_exponential(-size_of(x));
    return (x < 0.0 ? e : every(1.0)) / (1.0 + e);
}

// tanh |x| = m / (m + 2) with m = e^(2|x|) - 1, from which nothing cancels near 0.
static WORKBENCH_INLINE doubles hyperbolic_tangent(doubles x) {
    const doubles size = size_of(x), twice = size > 22.0 ? every(44.0) : size + size;
    doubles shifted;
    const doubles r = without_powers(twice, shifted), power = power_of_two(shifted);
    const doubles m = power * small_exponential(r) + (power - 1.0);
    return x != x ? x : with_sign_of(m / (m + 2.0), x);
}

// Says whether some lane is too large for `turned`, infinite or NaN.
static WORKBENCH_INLINE bool some_far(doubles x) {
    const longs near = size_of(x) < 500000.0;
#if defined(WORKBENCH_AVX512)
    return _mm512_movepi64_mask((__m512i)near) != 0xff;
#elif defined(WORKBENCH_AVX2)
    return _mm256_movemask_pd((__m256d)near) != 0xf;
#else
    return !(near[0] & near[1] & near[2] & near[3]);
#endif
}

// The sine of x, or its cosine: x = n pi/2 + r + rest, where n pi/2 is taken off in three parts, of which two are exact.
// The series of both are those of fdlibm (Sun Microsystems, 1993).
template <bool cosine>
static WORKBENCH_INLINE doubles turned(doubles x) {
    const doubles shifted = x * 6.36619772367581382433e-01 + rounding;
    const doubles n = shifted - rounding;
    const doubles first = x - n * 1.57079632673412561417e+00;
    const doubles r = first - n * 6.07710050630396597660e-11;
    const doubles rest = ((first - r) - n * 6.07710050630396597660e-11) - n * 2.02226624879595063154e-21;
    const doubles z = r * r, cube = z * r;
    doubles s = every(1.58969099521155010221e-10);
    s = s * z - 2.50507602534068634195e-08;
    s = s * z + 2.75573137070700676789e-06;
    s = s * z - 1.98412698298579493134e-04;
    s = s * z + 8.33333333332248946124e-03;
    const doubles sine = r - ((z * (0.5 * rest - cube * s) - rest) + cube * 1.66666666666666324348e-01);
    doubles c = every(-1.13596475577881948265e-11);
    c = c * z + 2.08757232129817482790e-09;
    c = c * z - 2.75573143513906633035e-07;
    c = c * z + 2.48015872894767294178e-05;
    c = c * z - 1.38888888888741095749e-03;
    c = c * z + 4.16666666666666019037e-02;
    const doubles half = 0.5 * z, most = 1.0 - half;
    const doubles other = most + (((1.0 - most) - half) + (z * z * c - r * rest));
    const longs quarter = (longs)shifted + (cosine ? 1 : 0);
    const doubles value = (quarter & 1) != 0 ? other : sine;
    return (doubles)((longs)value ^ ((quarter & 2) << 62));
}

template <DoubleFunction kind>
static WORKBENCH_INLINE doubles function_of(doubles x) {
    if constexpr (kind == DoubleFunction::sigmoid) return logistic(x);
    constexpr bool cosine = kind == DoubleFunction::cos;
    if (__builtin_expect(some_far(x), 0)) {  // the C library takes off any number of turns
        doubles y = x;
        for (int lane = 0; lane < double_lanes; ++lane) y[lane] = cosine ? __builtin_cos(x[lane]) : __builtin_sin(x[lane]);
        return y;
    }
    return turned<cosine>(x);
}

template <DoubleFunction kind>
static void double_run_of(const double* x, std::int64_t count, double* out) {
    each_double(count, [&](std::int64_t i, std::int64_t n) { put_doubles(out + i, function_of<kind>(doubles_at(x + i, n)), n); });
}
static void double_run(DoubleFunction kind, const double* x, std::int64_t count, double* out) {
    switch (kind) {
        case DoubleFunction::sin: double_run_of<DoubleFunction::sin>(x, count, out); break;
        case DoubleFunction::cos: double_run_of<DoubleFunction::cos>(x, count, out); break;
        case DoubleFunction::sigmoid: double_run_of<DoubleFunction::sigmoid>(x, count, out); break;
    }
}

// The gates of one row of a step, from their sums, and what comes of them; as in recurrent.inl, in doubles.
static void lstm_gates_row(const double* sums, const double* memory, std::int64_t size, double* gates, double* cells, double* out) {
    each_double(size, [&](std::int64_t i, std::int64_t n) {
        const doubles in = logistic(doubles_at(sums + i, n)), forget = logistic(doubles_at(sums + size + i, n));
        const doubles candidate = hyperbolic_tangent(doubles_at(sums + 2 * size + i, n));
        const doubles shown = logistic(doubles_at(sums + 3 * size + i, n));
        const doubles cell = forget * doubles_at(memory + i, n) + in * candidate;
        put_doubles(gates + i, in, n), put_doubles(gates + size + i, forget, n);
        put_doubles(gates + 2 * size + i, candidate, n), put_doubles(gates + 3 * size + i, shown, n);
        put_doubles(cells + i, cell, n), put_doubles(out + i, shown * hyperbolic_tangent(cell), n);
    });
}
static void lstm_gates_back_row(const double* d, const double* d_memory, const double* before, const double* cells,
                                const double* gates, std::int64_t size, double* d_sums, double* d_before) {
    each_double(size, [&](std::int64_t i, std::int64_t n) {
        const doubles d_h = doubles_at(d + i, n), bent = hyperbolic_tangent(doubles_at(cells + i, n));
        const doubles in = doubles_at(gates + i, n), forget = doubles_at(gates + size + i, n);
        const doubles candidate = doubles_at(gates + 2 * size + i, n), shown = doubles_at(gates + 3 * size + i, n);
        const doubles d_cell = doubles_at(d_memory + i, n) + d_h * shown * (1.0 - bent * bent);
        put_doubles(d_sums + i, d_cell * candidate * in * (1.0 - in), n);
        put_doubles(d_sums + size + i, d_cell * doubles_at(before + i, n) * forget * (1.0 - forget), n);
        put_doubles(d_sums + 2 * size + i, d_cell * in * (1.0 - candidate * candidate), n);
        put_doubles(d_sums + 3 * size + i, d_h * bent * shown * (1.0 - shown), n);
        put_doubles(d_before + i, d_cell * forget, n);
    });
}
static void gru_gates_row(const double* pre, const double* own, const double* before, std::int64_t size, double* gates, double* out) {
    each_double(size, [&](std::int64_t i, std::int64_t n) {
        const doubles reset = logistic(doubles_at(pre + i, n) + doubles_at(own + i, n));
        const doubles update = logistic(doubles_at(pre + size + i, n) + doubles_at(own + size + i, n));
        const doubles candidate =
            hyperbolic_tangent(doubles_at(pre + 2 * size + i, n) + reset * doubles_at(own + 2 * size + i, n));
        put_doubles(gates + i, reset, n), put_doubles(gates + size + i, update, n);
        put_doubles(gates + 2 * size + i, candidate, n);
        put_doubles(out + i, candidate + update * (doubles_at(before + i, n) - candidate), n);
    });
}
static void gru_gates_back_row(const double* d, const double* before, const double* gates, const double* inner, std::int64_t size,
                               double* d_pre, double* d_own, double* carry) {
    each_double(size, [&](std::int64_t i, std::int64_t n) {
        const doubles d_h = doubles_at(d + i, n), reset = doubles_at(gates + i, n), update = doubles_at(gates + size + i, n);
        const doubles candidate = doubles_at(gates + 2 * size + i, n);
        const doubles d_candidate = d_h * (1.0 - update) * (1.0 - candidate * candidate);
        const doubles d_update = d_h * (doubles_at(before + i, n) - candidate) * update * (1.0 - update);
        const doubles d_reset = d_candidate * doubles_at(inner + i, n) * reset * (1.0 - reset);
        put_doubles(d_pre + i, d_reset, n), put_doubles(d_own + i, d_reset, n);
        put_doubles(d_pre + size + i, d_update, n), put_doubles(d_own + size + i, d_update, n);
        put_doubles(d_pre + 2 * size + i, d_candidate, n), put_doubles(d_own + 2 * size + i, d_candidate * reset, n);
        put_doubles(carry + i, d_h * update, n);
    });
}
