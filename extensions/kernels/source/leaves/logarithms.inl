// Logarithms, powers and angles of floats, each to about 2 units in the last place. Included once per instruction set, behind
// functions.inl and double_functions.inl.

// x = 2^n (1 + f) with f between sqrt(1/2) - 1 and sqrt(2) - 1: ln(1 + f) - f comes back. The series is that of Cephes (S. Moshier).
static WORKBENCH_INLINE floats logarithm_parts(floats x, floats& n, floats& f) {
    const ints tiny = x < 1.17549435e-38f;
    // Without a sign: of what is below zero, or no number, the differences leave the range.
    typedef std::uint32_t words __attribute__((vector_size(sizeof(floats))));
    const words bits = (words)(tiny ? x * 8388608.f : x);
    const ints power = (ints)(bits - 0x3f3504f3u) >> 23;  // 0x3f3504f3 is sqrt(1/2)
    f = (floats)(bits - ((words)power << 23)) - 1.f;
    n = __builtin_convertvector(power - (tiny ? ints{} + 23 : ints{}), floats);
    const floats square = f * f;
    floats series = all(7.0376836292e-2f);
    series = series * f - 1.1514610310e-1f;
    series = series * f + 1.1676998740e-1f;
    series = series * f - 1.2420140846e-1f;
    series = series * f + 1.4249322787e-1f;
    series = series * f - 1.6668057665e-1f;
    series = series * f + 2.0000714765e-1f;
    series = series * f - 2.4999993993e-1f;
    series = series * f + 3.3333331174e-1f;
    return series * f * square - 0.5f * square;
}
// What a logarithm is where there is none: of zero, of what is below it, of infinity and of NaN.
static WORKBENCH_INLINE floats logarithm_of_any(floats x, floats found) {
    const floats endless = all(__builtin_inff());
    return x > 0.f ? (x == endless ? x : found) : (x == 0.f ? -endless : all(__builtin_nanf("")));
}
static WORKBENCH_INLINE floats logarithm(floats x) {
    floats n, f;
    const floats rest = logarithm_parts(x, n, f) + n * -2.12194440e-4f;
    return logarithm_of_any(x, (f + rest) + n * 0.693359375f);
}
static WORKBENCH_INLINE floats binary_logarithm(floats x) {
    floats n, f;
    const floats rest = logarithm_parts(x, n, f);
    return logarithm_of_any(x, (rest * 0.44269504f + f * 0.44269504f) + rest + f + n);
}
static WORKBENCH_INLINE floats decimal_logarithm(floats x) {
    floats n, f;
    const floats rest = logarithm_parts(x, n, f);
    return logarithm_of_any(x, ((f + rest) * 0.434294482f + n * -4.60503e-6f) + n * 0.301034600f);
}
// ln(1 + x): what rounding 1 + x cuts off is put back.
static WORKBENCH_INLINE floats logarithm_beside_one(floats x) {
    const floats sum = 1.f + x, lost = x - (sum - 1.f);
    const floats found = logarithm(sum) + lost / sum;
    // The sign is that of x, of zero as well.
    return sum > 0.f ? (sum == __builtin_inff() ? x : signed_as(magnitude(found), x)) : logarithm(sum);
}

static WORKBENCH_INLINE floats power_of_two(floats x) {
    const floats bounded = within(x, -152.f, 129.f), n = nearest(bounded);
    const floats power = with_power_of_two(exponential_series((bounded - n) * 0.693147181f), n);
    return x != x ? x : power;
}

// A function of floats by way of doubles, rounded once.
template <typename Function>
static WORKBENCH_INLINE floats by_doubles(floats x, floats y, Function&& function) {
    typedef float half __attribute__((vector_size(4 * double_lanes)));
    half parts[2], others[2];
    __builtin_memcpy(parts, &x, sizeof x);
    __builtin_memcpy(others, &y, sizeof y);
    for (int i = 0; i < 2; ++i)
        parts[i] = __builtin_convertvector(
            function(__builtin_convertvector(parts[i], doubles), __builtin_convertvector(others[i], doubles)), half);
    __builtin_memcpy(&x, parts, sizeof x);
    return x;
}
static WORKBENCH_INLINE floats sine(floats x) {
    return by_doubles(x, x, [](doubles one, doubles) { return turned_anyhow<false>(one); });
}
static WORKBENCH_INLINE floats cosine(floats x) {
    return by_doubles(x, x, [](doubles one, doubles) { return turned_anyhow<true>(one); });
}

static WORKBENCH_INLINE bool every_lane(ints mask) {
#if defined(WORKBENCH_AVX512)
    return _mm512_movepi32_mask((__m512i)mask) == 0xffff;
#elif defined(WORKBENCH_AVX2)
    return _mm256_movemask_ps((__m256)mask) == 0xff;
#else
    bool all_of_them = true;
    for (int lane = 0; lane < lanes; ++lane) all_of_them = all_of_them && mask[lane];
    return all_of_them;
#endif
}

// x^y = e^(y ln|x|), in doubles, with the sign that a whole y gives it. Zeros, infinities and NaN are the C library's.
static WORKBENCH_INLINE floats power(floats x, floats y) {
    const floats size = magnitude(x), endless = all(__builtin_inff());
    if (__builtin_expect(!every_lane((size > 0.f) & (size < endless) & (magnitude(y) < endless)), 0)) {
        floats found = x;
        for (int lane = 0; lane < lanes; ++lane) found[lane] = __builtin_powf(x[lane], y[lane]);
        return found;
    }
    return by_doubles(x, y, [](doubles base, doubles exponent) {
        const doubles found = exponential(logarithm_of_normal(size_of(base)) * exponent);
        // Floats beyond 2^24 are even: the whole part fits what is converted.
        const doubles bounded = size_of(exponent) < 33554432.0 ? exponent : every(0.0);
        const longs whole = (longs)(bounded + rounding);
        const longs fraction = ((doubles)whole - rounding) != bounded, odd = (whole & 1) != 0;
        const doubles negative = fraction ? every(__builtin_nan("")) : (odd ? -found : found);
        return base < 0.0 ? negative : found;
    });
}
