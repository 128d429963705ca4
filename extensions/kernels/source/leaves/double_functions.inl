// Vectors of doubles, and functions of them, each to about 2 units in the last place. Included once per instruction set, by
// the leaves that compute with doubles; see dispatch.hpp.

#ifdef WORKBENCH_AVX512
constexpr int double_lanes = 8;
#else
constexpr int double_lanes = 4;
#endif
typedef double doubles __attribute__((vector_size(8 * double_lanes)));
typedef double doubles_unaligned __attribute__((vector_size(8 * double_lanes), aligned(8), may_alias));
typedef std::int64_t longs __attribute__((vector_size(8 * double_lanes)));

static WORKBENCH_INLINE doubles every(double v) { return v - doubles{}; }  // less nothing, which leaves -0 as it is
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

// e^x for any x.
static WORKBENCH_INLINE doubles exponential(doubles x) {
    const doubles above = x < -746.0 ? every(-746.0) : x, bounded = above > 710.0 ? every(710.0) : above;  // NaN stays
    const longs low = bounded < -700.0, high = bounded > 700.0;  // as above: 2^n is put together of two
    const doubles none = every(0.0), one = every(1.0);
    doubles shifted;
    const doubles r = without_powers(bounded, shifted);
    const doubles moved = shifted + (low ? every(200.0) : (high ? every(-200.0) : none));
    return (1.0 + small_exponential(r)) * power_of_two(moved) * (low ? every(0x1p-200) : (high ? every(0x1p200) : one));
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

// k ln2 + ln(1 + f) for f between sqrt(1/2) - 1 and sqrt(2) - 1; the series is that of fdlibm (Sun Microsystems, 1993).
static WORKBENCH_INLINE doubles logarithm_near_one(doubles f, doubles k) {
    const doubles s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
    doubles series = every(1.479819860511658591e-01);
    series = series * z + 1.531383769920937332e-01;
    series = series * z + 1.818357216161805012e-01;
    series = series * z + 2.222219843214978396e-01;
    series = series * z + 2.857142874366239149e-01;
    series = series * z + 3.999999999940941908e-01;
    series = series * z + 6.666666666666735130e-01;
    return k * 6.93147180369123816490e-01 - ((half - (s * (half + z * series) + k * 1.90821492927058770002e-10)) - f);
}

// ln(1 + e) for 0 <= e <= 1. Beyond sqrt(2) - 1 it is ln2 + ln((1 + e) / 2).
static WORKBENCH_INLINE doubles logarithm_of_one_and(doubles e) {
    const longs large = e > 4.14213562373095048802e-01;
    return logarithm_near_one(large ? (e - 1.0) * 0.5 : e, large ? every(1.0) : every(0.0));
}

// ln x for a positive, finite x that is no smaller than 2^-1022.
static WORKBENCH_INLINE doubles logarithm_of_normal(doubles x) {
    // The exponent such that what is left lies between sqrt(1/2) and sqrt(2): 0x3fe6a09e... is sqrt(1/2).
    const longs moved = (longs)x - 0x3fe6a09e667f3bcd, power = moved >> 52;
    return logarithm_near_one((doubles)((longs)x - (power << 52)) - 1.0, __builtin_convertvector(power, doubles));
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

// The same of any x.
template <bool cosine>
static WORKBENCH_INLINE doubles turned_anyhow(doubles x) {
    if (__builtin_expect(some_far(x), 0)) {  // the C library takes off any number of turns
        doubles y = x;
        for (int lane = 0; lane < double_lanes; ++lane) y[lane] = cosine ? __builtin_cos(x[lane]) : __builtin_sin(x[lane]);
        return y;
    }
    return turned<cosine>(x);
}

static WORKBENCH_INLINE double lanes_total(doubles v) {
    double total = 0;
    for (int lane = 0; lane < double_lanes; lane += 4) total += (v[lane] + v[lane + 1]) + (v[lane + 2] + v[lane + 3]);
    return total;
}

// The sum of value(i, count) over a row. Sums of 64 vectors are added together with what these additions round off, so that long
// rows lose no more than short ones.
template <typename Value>
static WORKBENCH_INLINE double doubles_sum(std::int64_t size, Value&& value) {
    double total = 0, lost = 0;
    for (std::int64_t first = 0; first < size; first += 64 * double_lanes) {
        const std::int64_t end = size - first < 64 * double_lanes ? size : first + 64 * double_lanes;
        doubles part = every(0.0), other = every(0.0);
        std::int64_t i = first;
        for (; i + 2 * double_lanes <= end; i += 2 * double_lanes) {
            part += value(i, std::int64_t{double_lanes});
            other += value(i + double_lanes, std::int64_t{double_lanes});
        }
        if (i + double_lanes <= end) part += value(i, std::int64_t{double_lanes}), i += double_lanes;
        if (i < end) {  // what the lanes beyond hold means nothing
            const doubles last = value(i, end - i);
            for (std::int64_t lane = 0; lane < end - i; ++lane) other[lane] += last[lane];
        }
        const double block = lanes_total(part + other), next = total + block, back = next - total;
        lost += (total - (next - back)) + (block - back);
        total = next;
    }
    return lost == lost ? total + lost : total;  // infinities leave no rest
}
