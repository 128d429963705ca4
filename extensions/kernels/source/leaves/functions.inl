// Functions of `floats`, each to about 2 units in the last place. Included once per instruction set.

// e^r for |r| <= ln2 / 2: its series to the seventh power.
static WORKBENCH_INLINE floats exponential_series(floats r) {
    floats series = all(1.f / 5040.f);
    series = series * r + 1.f / 720.f;
    series = series * r + 1.f / 120.f;
    series = series * r + 1.f / 24.f;
    series = series * r + 1.f / 6.f;
    series = series * r + 0.5f;
    series = series * r + 1.f;
    return series * r + 1.f;
}

// x within bounds, NaN as it is; the nearest whole number; x 2^n.
static WORKBENCH_INLINE floats within(floats x, float low, float high) {
#ifdef WORKBENCH_AVX512
    return larger(all(low), lesser(all(high), x));
#else
    return x > high ? all(high) : (x < low ? all(low) : x);
#endif
}
static WORKBENCH_INLINE floats nearest(floats x) {
#ifdef WORKBENCH_AVX512
    return (floats)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
    const floats shifter = all(12582912.f);  // 1.5 * 2^23: adding it rounds to the nearest integer
    return (x + shifter) - shifter;
#endif
}
static WORKBENCH_INLINE floats with_power_of_two(floats x, floats n) {
#ifdef WORKBENCH_AVX512
    return (floats)_mm512_scalef_ps((__m512)x, (__m512)n);
#else
    // Two factors of 2^n keep results near the ends of the range exact.
    const ints power = __builtin_convertvector(n, ints), half = power >> 1;
    return x * (floats)((half + 127) << 23) * (floats)((power - half + 127) << 23);
#endif
}

// e^x: 2^n e^r with |r| <= ln2 / 2, where n ln2 is taken off in two parts.
static WORKBENCH_INLINE floats exponential(floats x) {
    const floats bounded = within(x, -104.f, 89.f), n = nearest(bounded * 1.44269504f);
    const floats r = (bounded - n * 0.693359375f) - n * -2.12194440e-4f;
    const floats power = with_power_of_two(exponential_series(r), n);
#ifdef WORKBENCH_AVX512
    return power;
#else
    return x != x ? x : power;
#endif
}

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

static WORKBENCH_INLINE floats magnitude(floats x) { return (floats)((ints)x & 0x7fffffff); }
// A positive value with the sign of x.
static WORKBENCH_INLINE floats signed_as(floats value, floats x) { return (floats)((ints)value | ((ints)x & (int)0x80000000)); }

// tanh: x + x^3 q(x^2) below 0.6 in magnitude, where 1 - 2/(e^2x + 1) would cancel; q is a fit at Chebyshev points.
static WORKBENCH_INLINE floats hyperbolic_tangent(floats x) {
    const floats square = x * x;
    floats series = all(2.37348466e-3f);
    series = series * square - 8.41252320e-3f;
    series = series * square + 2.17890963e-2f;
    series = series * square - 5.39616533e-2f;
    series = series * square + 1.33333132e-1f;
    series = series * square - 3.33333343e-1f;
    const floats size = magnitude(x), large = 1.f - 2.f / (exponential(size + size) + 1.f);
    // Of the magnitude, so that the sign of zero is that of x.
    return x != x ? x : signed_as(size < 0.6f ? size + size * square * series : large, x);
}

static WORKBENCH_INLINE floats logistic(floats x) { return 1.f / (1.f + exponential(-x)); }

// ln(1 + e) for 0 <= e <= 1: e + e^2 p(e), a minimax fit.
static WORKBENCH_INLINE floats logarithm_of_one_and(floats e) {
    floats series = all(2.015491632e-03f);
    series = series * e - 1.334211501e-02f;
    series = series * e + 4.136164782e-02f;
    series = series * e - 8.233891893e-02f;
    series = series * e + 1.241440672e-01f;
    series = series * e - 1.610594690e-01f;
    series = series * e + 1.989162581e-01f;
    series = series * e - 2.498760818e-01f;
    series = series * e + 3.333261537e-01f;
    series = series * e - 4.999998527e-01f;
    return e + e * e * series;
}

// e^(-x^2 scale), where the square would lose digits far from zero: what its rounding cuts off is put back.
static WORKBENCH_INLINE floats bell(floats x, float scale) {
#if defined(WORKBENCH_AVX512)
    const floats square = x * x, rest = (floats)_mm512_fmsub_ps((__m512)x, (__m512)x, (__m512)square);
    return exponential(square * -scale) * (1.f - rest * scale);
#elif defined(WORKBENCH_AVX2)
    const floats square = x * x, rest = (floats)_mm256_fmsub_ps((__m256)x, (__m256)x, (__m256)square);
    return exponential(square * -scale) * (1.f - rest * scale);
#else
    // The upper 12 bits of the mantissa: their square is exact.
    const floats high = (floats)((ints)x & ~0xfff), low = x - high;
    return exponential(high * high * -scale) * exponential(low * (x + high) * -scale);
#endif
}

// erf: x p(x^2) below 1 in magnitude, 1 - e^(-x^2) q(t) from there, with t = 1 / (1 + 0.38 |x|); minimax fits.
static WORKBENCH_INLINE floats error_function(floats x) {
    const floats square = x * x, size = magnitude(x);
    floats near = all(7.853857690e-5f);
    near = near * square - 8.010192514e-4f;
    near = near * square + 5.188327559e-3f;
    near = near * square - 2.685381187e-2f;
    near = near * square + 1.128358515e-1f;
    near = near * square - 3.761262582e-1f;
    near = near * square + 0.128379166f;  // less 1: x itself is added without a rounding
    const floats t = 1.f / (1.f + 0.38f * size);
    floats far = all(-1.438081712e-1f);
    far = far * t + 3.970718604e-1f;
    far = far * t - 1.519458582e-1f;
    far = far * t + 3.048764222e-1f;
    far = far * t + 1.589750289e-1f;
    far = far * t + 2.208122981e-1f;
    far = far * t + 2.139517731e-1f;
    const floats bounded = size > 5.f ? all(5.f) : size;  // from 4 on the result is 1
    const floats rest = 1.f - exponential(-bounded * bounded) * (far * t);
    return x != x ? x : (size < 1.f ? x + x * near : signed_as(rest, x));
}

// Of the normal distribution: its probability below x, and e^(-x^2/2). The lower tail keeps all its digits.
static WORKBENCH_INLINE floats normal_below(floats x, floats& density) {
    const floats size = magnitude(x);
    const floats t = 1.f / (1.f + 0.21f * size);
    density = bell(lesser(all(15.f), size), 0.5f);
    floats series = all(-7.122430848e-2f);
    series = series * t + 2.814567488e-1f;
    series = series * t - 3.257607373e-1f;
    series = series * t + 3.441278937e-1f;
    series = series * t - 9.016057308e-2f;
    series = series * t + 1.232009695e-1f;
    series = series * t + 6.964257557e-2f;
    series = series * t + 8.500160711e-2f;
    series = series * t + 8.371583388e-2f;
    const floats tail = density * (series * t);
    return x < 0.f ? tail : 1.f - tail;
}

// x times the normal probability below it.
static WORKBENCH_INLINE floats gelu(floats x) {
    floats density;
    const floats below = normal_below(x, density);
    return x < -15.f ? x * 0.f : x * below;
}
static WORKBENCH_INLINE floats gelu_slope(floats x) {
    floats density;
    const floats below = normal_below(x, density);
    return below + x * (density * 0.398942280f);  // at infinity NaN, as the formula says
}

// The same with a hyperbolic tangent: x (1 + tanh u) / 2 = x / (1 + e^-2u), u = sqrt(2/pi) (x + 0.044715 x^3).
static WORKBENCH_INLINE floats gelu_tanh(floats x) {
    const floats twice = x * (1.59576912f + 0.0713548162f * (x * x));
    const floats y = x * logistic(twice);
    return x < -15.f ? x * 0.f : y;
}
static WORKBENCH_INLINE floats gelu_tanh_slope(floats x) {
    const floats bounded = x > 15.f ? all(15.f) : (x < -15.f ? all(-15.f) : x), square = bounded * bounded;
    const floats share = logistic(bounded * (1.59576912f + 0.0713548162f * square));
    const floats slope = share + bounded * (share * (1.f - share)) * (1.59576912f + 3.f * 0.0713548162f * square);
    return slope + x * 0.f;  // at infinity NaN, as the formula says
}

static WORKBENCH_INLINE floats silu(floats x) {
    const floats y = x * logistic(x);
    return x < -104.f ? x * 0.f : y;
}
static WORKBENCH_INLINE floats silu_slope(floats x) {
    const floats share = logistic(x);
    return share * (1.f + x * (1.f - share));  // at infinity NaN, as the formula says
}
