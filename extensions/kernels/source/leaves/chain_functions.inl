// The functions of ../compiled/chain.hpp that are more than a few instructions, on a group of values. Included once per
// instruction set, by chain.inl.

// What compilers would otherwise make one rounding of.
static WORKBENCH_INLINE floats rounded(floats x) {
#ifdef WORKBENCH_AVX2
    asm("" : "+v"(x));
#endif
    return x;
}
static WORKBENCH_INLINE doubles rounded(doubles x) {
#ifdef WORKBENCH_AVX2
    asm("" : "+v"(x));
#endif
    return x;
}

static WORKBENCH_INLINE floats without_sign(floats x) { return magnitude(x); }
static WORKBENCH_INLINE doubles without_sign(doubles x) { return size_of(x); }
static WORKBENCH_INLINE ints without_sign(ints x) { return x < 0 ? -x : x; }
static WORKBENCH_INLINE longs without_sign(longs x) { return x < 0 ? -x : x; }

static WORKBENCH_INLINE doubles square_root(doubles x) {
#if defined(WORKBENCH_AVX512)
    return (doubles)_mm512_sqrt_pd((__m512d)x);
#elif defined(WORKBENCH_AVX2)
    return (doubles)_mm256_sqrt_pd((__m256d)x);
#else
    for (int lane = 0; lane < double_lanes; ++lane) x[lane] = __builtin_sqrt(x[lane]);
    return x;
#endif
}

// NaN wins in both.
template <typename V>
static WORKBENCH_INLINE V larger_or_nan(V x, V y) {
    return x != x ? x : (x > y ? x : y);
}
template <typename V>
static WORKBENCH_INLINE V lesser_or_nan(V x, V y) {
    return x != x ? x : (x < y ? x : y);
}
#ifdef WORKBENCH_AVX512
static WORKBENCH_INLINE floats larger_or_nan(floats x, floats y) {
    const __mmask16 nan = _mm512_cmp_ps_mask((__m512)x, (__m512)x, _CMP_UNORD_Q);
    return (floats)_mm512_mask_mov_ps(_mm512_max_ps((__m512)x, (__m512)y), nan, (__m512)x);
}
static WORKBENCH_INLINE floats lesser_or_nan(floats x, floats y) {
    const __mmask16 nan = _mm512_cmp_ps_mask((__m512)x, (__m512)x, _CMP_UNORD_Q);
    return (floats)_mm512_mask_mov_ps(_mm512_min_ps((__m512)x, (__m512)y), nan, (__m512)x);
}
#endif

enum class Rounding { to_nearest = 0, down = 1, up = 2, towards_zero = 3 };  // as the processor counts them
template <Rounding way>
static WORKBENCH_INLINE floats whole(floats x) {
#if defined(WORKBENCH_AVX512)
    return (floats)_mm512_roundscale_ps((__m512)x, static_cast<int>(way) | _MM_FROUND_NO_EXC);
#elif defined(WORKBENCH_AVX2)
    return (floats)_mm256_round_ps((__m256)x, static_cast<int>(way) | _MM_FROUND_NO_EXC);
#else
    for (int lane = 0; lane < lanes; ++lane)
        x[lane] = way == Rounding::to_nearest ? __builtin_rintf(x[lane])
                  : way == Rounding::down     ? __builtin_floorf(x[lane])
                  : way == Rounding::up       ? __builtin_ceilf(x[lane])
                                              : __builtin_truncf(x[lane]);
    return x;
#endif
}
template <Rounding way>
static WORKBENCH_INLINE doubles whole(doubles x) {
#if defined(WORKBENCH_AVX512)
    return (doubles)_mm512_roundscale_pd((__m512d)x, static_cast<int>(way) | _MM_FROUND_NO_EXC);
#elif defined(WORKBENCH_AVX2)
    return (doubles)_mm256_round_pd((__m256d)x, static_cast<int>(way) | _MM_FROUND_NO_EXC);
#else
    for (int lane = 0; lane < double_lanes; ++lane)
        x[lane] = way == Rounding::to_nearest ? __builtin_rint(x[lane])
                  : way == Rounding::down     ? __builtin_floor(x[lane])
                  : way == Rounding::up       ? __builtin_ceil(x[lane])
                                              : __builtin_trunc(x[lane]);
    return x;
#endif
}

// All values of a group; numbers are read from the first value of theirs.
#define WORKBENCH_GROUP(V, T, expression)                                         \
    for (int i = 0; i < static_cast<int>(8 * sizeof(V) / sizeof(T)); i += sizeof(V) / sizeof(T)) { \
        V v, y;                                                                         \
        __builtin_memcpy(&v, x + i, sizeof v);                                          \
        __builtin_memcpy(&y, a + i, sizeof y);                                          \
        (void)y;                                                                        \
        v = expression;                                                                 \
        __builtin_memcpy(x + i, &v, sizeof v);                                          \
    }                                                                                   \
    return;

#define WORKBENCH_FLOATS(name, expression) \
    case Operation::name: WORKBENCH_GROUP(floats, float, expression)
__attribute__((noinline)) static void chain_function(compiled::Operation operation, float* x, const float* a, const float* b,
                                                     const float* c, const float* d) {
    using compiled::Operation;
    const floats p = all(a[0]), q = all(b[0]), r = all(c[0]), s = all(d[0]);
    switch (operation) {
        WORKBENCH_FLOATS(exp, exponential(v))
        WORKBENCH_FLOATS(exp2, power_of_two(v))
        WORKBENCH_FLOATS(expm1, exponential_less_one(v))
        WORKBENCH_FLOATS(log, logarithm(v))
        WORKBENCH_FLOATS(log2, binary_logarithm(v))
        WORKBENCH_FLOATS(log10, decimal_logarithm(v))
        WORKBENCH_FLOATS(log1p, logarithm_beside_one(v))
        WORKBENCH_FLOATS(sin, sine(v))
        WORKBENCH_FLOATS(cos, cosine(v))
        WORKBENCH_FLOATS(pow, power(v, y))
        WORKBENCH_FLOATS(tanh, hyperbolic_tangent(v))
        WORKBENCH_FLOATS(sigmoid, logistic(v))
        WORKBENCH_FLOATS(erf, error_function(v))
        WORKBENCH_FLOATS(ndtr, function<Unary::ndtr>(v))
        WORKBENCH_FLOATS(gelu, gelu(v))
        WORKBENCH_FLOATS(gelu_tanh, gelu_tanh(v))
        WORKBENCH_FLOATS(silu, silu(v))
        WORKBENCH_FLOATS(logsigmoid, shaped<Shaped::logsigmoid>(v, p, q, r))
        WORKBENCH_FLOATS(hardsigmoid, shaped<Shaped::hardsigmoid>(v, p, q, r))
        WORKBENCH_FLOATS(hardswish, shaped<Shaped::hardswish>(v, p, q, r))
        WORKBENCH_FLOATS(mish, shaped<Shaped::mish>(v, p, q, r))
        WORKBENCH_FLOATS(elu, shaped<Shaped::elu>(v, p, q, r))
        WORKBENCH_FLOATS(softplus, shaped<Shaped::softplus>(v, p, q, r))
        WORKBENCH_FLOATS(softshrink, shaped<Shaped::softshrink>(v, p, q, r))
        WORKBENCH_FLOATS(hardshrink, shaped<Shaped::hardshrink>(v, p, q, r))
        WORKBENCH_FLOATS(threshold, shaped<Shaped::threshold>(v, p, q, r))
        WORKBENCH_FLOATS(relu_gradient, function<Binary::relu_gradient>(v, y))
        WORKBENCH_FLOATS(tanh_gradient, function<Binary::tanh_gradient>(v, y))
        WORKBENCH_FLOATS(sigmoid_gradient, function<Binary::sigmoid_gradient>(v, y))
        WORKBENCH_FLOATS(gelu_gradient, function<Binary::gelu_gradient>(v, y))
        WORKBENCH_FLOATS(gelu_tanh_gradient, function<Binary::gelu_tanh_gradient>(v, y))
        WORKBENCH_FLOATS(silu_gradient, function<Binary::silu_gradient>(v, y))
        WORKBENCH_FLOATS(between, passed<Passed::between>(v, y, q, r, s))
        WORKBENCH_FLOATS(within, passed<Passed::within>(v, y, q, r, s))
        WORKBENCH_FLOATS(beyond, passed<Passed::beyond>(v, y, q, r, s))
        WORKBENCH_FLOATS(above, passed<Passed::above>(v, y, q, r, s))
        WORKBENCH_FLOATS(leaky_relu_gradient, passed<Passed::leaky_relu>(v, y, q, r, s))
        WORKBENCH_FLOATS(elu_gradient, passed<Passed::elu>(v, y, q, r, s))
        WORKBENCH_FLOATS(softplus_gradient, passed<Passed::softplus>(v, y, q, r, s))
        WORKBENCH_FLOATS(logsigmoid_gradient, passed<Passed::logsigmoid>(v, y, q, r, s))
        WORKBENCH_FLOATS(hardswish_gradient, passed<Passed::hardswish>(v, y, q, r, s))
        WORKBENCH_FLOATS(mish_gradient, passed<Passed::mish>(v, y, q, r, s))
        default: return;
    }
}
#undef WORKBENCH_FLOATS

// One at a time, by the C library.
template <typename Function>
static WORKBENCH_INLINE doubles each_lane(doubles x, doubles y, Function&& function) {
    for (int lane = 0; lane < double_lanes; ++lane) x[lane] = function(x[lane], y[lane]);
    return x;
}
static WORKBENCH_INLINE doubles normal_below(doubles x) {
    return each_lane(x, x, [](double one, double) { return 0.5 * __builtin_erfc(one * -0.70710678118654752440); });
}
static WORKBENCH_INLINE doubles normal_density(doubles x) {
    return exponential(x * x * -0.5) * 0.39894228040143267794;
}
static WORKBENCH_INLINE doubles softly_above(doubles x) {
    const doubles rest = logarithm_of_one_and(falling_exponential(-size_of(x)));
    return x > 0.0 ? x + rest : rest;
}
static WORKBENCH_INLINE doubles exponential_less_one(doubles x) {
    return each_lane(x, x, [](double one, double) { return __builtin_expm1(one); });
}
// 2 sqrt(2/pi) (x + 0.044715 x^3), of which gelu_tanh is the logistic function; and its slope.
static WORKBENCH_INLINE doubles gelu_tanh_angle(doubles x) {
    return x * (1.5957691216057308 + 0.07135481627260025 * (x * x));
}
static WORKBENCH_INLINE doubles gelu_tanh_slope(doubles x) {
    const doubles share = logistic(gelu_tanh_angle(x));
    const doubles slope = share + x * (share * (1.0 - share)) * (1.5957691216057308 + 3.0 * 0.07135481627260025 * (x * x));
    return size_of(x) < 40.0 ? slope : (x > 0.0 ? every(1.0) : every(0.0)) + x * 0.0;
}
static WORKBENCH_INLINE doubles six_at_most(doubles x) {
    const doubles moved = x + 3.0, above = moved < 0.0 ? every(0.0) : moved;
    return above > 6.0 ? every(6.0) : above;
}
static WORKBENCH_INLINE doubles mish_slope(doubles x) {
    const doubles share = hyperbolic_tangent(softly_above(x));
    return share + x * logistic(x) * (1.0 - share * share);
}

#define WORKBENCH_DOUBLES(name, expression) \
    case Operation::name: WORKBENCH_GROUP(doubles, double, expression)
#define WORKBENCH_LIBRARY(name, function) WORKBENCH_DOUBLES(name, each_lane(v, v, [](double one, double) { return function(one); }))
__attribute__((noinline)) static void chain_function(compiled::Operation operation, double* x, const double* a, const double* b,
                                                     const double* c, const double* d) {
    using compiled::Operation;
    const doubles none = every(0.0);
    const doubles p = every(a[0]), q = every(b[0]), r = every(c[0]), s = every(d[0]);
    switch (operation) {
        WORKBENCH_DOUBLES(exp, exponential(v))
        WORKBENCH_LIBRARY(exp2, __builtin_exp2)
        WORKBENCH_DOUBLES(expm1, exponential_less_one(v))
        WORKBENCH_LIBRARY(log, __builtin_log)
        WORKBENCH_LIBRARY(log2, __builtin_log2)
        WORKBENCH_LIBRARY(log10, __builtin_log10)
        WORKBENCH_LIBRARY(log1p, __builtin_log1p)
        WORKBENCH_DOUBLES(sin, turned_anyhow<false>(v))
        WORKBENCH_DOUBLES(cos, turned_anyhow<true>(v))
        WORKBENCH_DOUBLES(pow, each_lane(v, y, [](double base, double power) { return __builtin_pow(base, power); }))
        WORKBENCH_DOUBLES(tanh, hyperbolic_tangent(v))
        WORKBENCH_DOUBLES(sigmoid, logistic(v))
        WORKBENCH_LIBRARY(erf, __builtin_erf)
        WORKBENCH_DOUBLES(ndtr, normal_below(v))
        WORKBENCH_DOUBLES(gelu, v * normal_below(v))
        WORKBENCH_DOUBLES(gelu_tanh, v * logistic(gelu_tanh_angle(v)))
        WORKBENCH_DOUBLES(silu, v * logistic(v))
        WORKBENCH_DOUBLES(logsigmoid, 0.0 - softly_above(-v))
        WORKBENCH_DOUBLES(hardsigmoid, six_at_most(v) / 6.0)
        WORKBENCH_DOUBLES(hardswish, v * (six_at_most(v) / 6.0))
        WORKBENCH_DOUBLES(mish, v * hyperbolic_tangent(softly_above(v)))
        WORKBENCH_DOUBLES(elu, v < 0.0 ? exponential_less_one((v > 0.0 ? none : v) * r) * p : v * q)
        WORKBENCH_DOUBLES(softplus, v * p > q ? v : softly_above(v * p) / p)
        WORKBENCH_DOUBLES(softshrink, v - (v < -p ? -p : (v > p ? p : v)))
        WORKBENCH_DOUBLES(hardshrink, v >= -p ? (v <= p ? none : v) : v)
        WORKBENCH_DOUBLES(threshold, v <= p ? q : v)
        WORKBENCH_DOUBLES(relu_gradient, y <= 0.0 ? none : v)
        WORKBENCH_DOUBLES(tanh_gradient, v * (1.0 - y * y))
        WORKBENCH_DOUBLES(sigmoid_gradient, v * (y * (1.0 - y)))
        WORKBENCH_DOUBLES(gelu_gradient, v * (normal_below(y) + y * normal_density(y)))
        WORKBENCH_DOUBLES(gelu_tanh_gradient, v * gelu_tanh_slope(y))
        WORKBENCH_DOUBLES(silu_gradient, v * (logistic(y) * (1.0 + y * (1.0 - logistic(y)))))
        WORKBENCH_DOUBLES(between, y <= q ? none : (y >= r ? none : v))
        WORKBENCH_DOUBLES(within, y > q ? (y < r ? v * s : none) : none)
        WORKBENCH_DOUBLES(beyond, y >= -q ? (y <= q ? none : v) : v)
        WORKBENCH_DOUBLES(above, y <= q ? none : v)
        WORKBENCH_DOUBLES(leaky_relu_gradient, y > 0.0 ? v : v * q)
        WORKBENCH_DOUBLES(elu_gradient, v * (y <= 0.0 ? exponential((y > 0.0 ? none : y) * s) * q : r))
        WORKBENCH_DOUBLES(softplus_gradient, y * q > r ? v : v * logistic(y * q))
        WORKBENCH_DOUBLES(logsigmoid_gradient, v * logistic(-y))
        WORKBENCH_DOUBLES(hardswish_gradient, y <= -3.0 ? none : (y >= 3.0 ? v : v * (y / 3.0 + 0.5)))
        WORKBENCH_DOUBLES(mish_gradient, v * mish_slope(y))
        default: return;
    }
}
#undef WORKBENCH_DOUBLES
#undef WORKBENCH_LIBRARY
#undef WORKBENCH_GROUP
