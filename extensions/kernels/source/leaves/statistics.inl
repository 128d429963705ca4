// Observations of values. Included once per instruction set; see dispatch.hpp.

// Moments of a block that fits the first-level cache: sums first, then squared distances from the block's own mean.
static Moments block_statistics(const float* x, std::int64_t count) {
    const floats8 none = spread(0.f);
    floats8 least = spread(__builtin_inff()), largest = spread(-__builtin_inff()), sum = none;
    ints8 finite = spread(0), nan = spread(0), zero = spread(0);
    Moments out{};
    const std::int64_t whole = count / 8 * 8;
    for (std::int64_t i = 0; i < whole; i += 8) {
        const floats8 value = load(x + i);
        const ints8 good = value - value == none;
        least = good & (value < least) ? value : least;
        largest = good & (value > largest) ? value : largest;
        sum += good ? value : none;
        finite -= good;
        nan -= value != value;
        zero -= value == none;
    }
    double total = 0;
    out.least = __builtin_inff(), out.largest = -__builtin_inff();
    for (int lane = 0; lane < 8; ++lane) {
        out.least = least[lane] < out.least ? least[lane] : out.least;
        out.largest = largest[lane] > out.largest ? largest[lane] : out.largest;
        total += static_cast<double>(sum[lane]);
        out.finite += finite[lane], out.nan += nan[lane], out.zero += zero[lane];
    }
    for (std::int64_t i = whole; i < count; ++i) {
        const float value = x[i];
        out.nan += value != value;
        out.zero += value == 0.f;
        if (value - value != 0.f) continue;
        ++out.finite;
        total += static_cast<double>(value);
        out.least = value < out.least ? value : out.least;
        out.largest = value > out.largest ? value : out.largest;
    }
    out.infinite = count - out.finite - out.nan;
    if (out.finite == 0) return out;
    out.mean = total / static_cast<double>(out.finite);
    const float centre = static_cast<float>(out.mean);
    floats8 squares = none;
    for (std::int64_t i = 0; i < whole; i += 8) {
        const floats8 value = load(x + i), distance = value - centre;
        squares += value - value == none ? distance * distance : none;
    }
    for (int lane = 0; lane < 8; ++lane) out.deviation += static_cast<double>(squares[lane]);
    for (std::int64_t i = whole; i < count; ++i) {
        const double distance = static_cast<double>(x[i]) - out.mean;
        if (x[i] - x[i] == 0.f) out.deviation += distance * distance;
    }
    return out;
}

// Extremes of finite values and counts of the others, without moments.
#ifdef WORKBENCH_AVX512

static Moments block_extremes(const float* x, std::int64_t count) {
    constexpr int together = 2;  // sums that do not wait for each other
    const __m512 most = _mm512_set1_ps(__FLT_MAX__), none = _mm512_setzero_ps();
    __m512 least[together], largest[together];
    for (int k = 0; k < together; ++k) least[k] = _mm512_set1_ps(__builtin_inff()), largest[k] = _mm512_set1_ps(-__builtin_inff());
    Moments out{};
    const auto take = [&](int k, __m512 value, __mmask16 there) {
        const __mmask16 good = _mm512_mask_cmp_ps_mask(there, _mm512_abs_ps(value), most, _CMP_LE_OQ);
        least[k] = _mm512_mask_min_ps(least[k], good, least[k], value);
        largest[k] = _mm512_mask_max_ps(largest[k], good, largest[k], value);
        out.zero += __builtin_popcount(_mm512_mask_cmp_ps_mask(there, value, none, _CMP_EQ_OQ));
        if (good == there) return;
        out.infinite += __builtin_popcount(static_cast<unsigned>(there & ~good));
        out.nan += __builtin_popcount(_mm512_mask_cmp_ps_mask(there, value, value, _CMP_UNORD_Q));
    };
    std::int64_t i = 0;
    for (; i + 16 * together <= count; i += 16 * together)
        for (int k = 0; k < together; ++k) take(k, _mm512_loadu_ps(x + i + 16 * k), 0xffff);
    for (; i < count; i += 16) {
        const __mmask16 there = static_cast<__mmask16>(count - i >= 16 ? 0xffff : (1 << (count - i)) - 1);
        take(0, _mm512_maskz_loadu_ps(there, x + i), there);
    }
    out.least = _mm512_reduce_min_ps(_mm512_min_ps(least[0], least[1]));
    out.largest = _mm512_reduce_max_ps(_mm512_max_ps(largest[0], largest[1]));
    out.finite = count - out.infinite;
    out.infinite -= out.nan;
    return out;
}

#else

static Moments block_extremes(const float* x, std::int64_t count) {
    const floats8 none = spread(0.f);
    floats8 least = spread(__builtin_inff()), largest = spread(-__builtin_inff());
    ints8 finite = spread(0), nan = spread(0), zero = spread(0);
    Moments out{};
    const std::int64_t whole = count / 8 * 8;
    for (std::int64_t i = 0; i < whole; i += 8) {
        const floats8 value = load(x + i);
        const ints8 good = value - value == none;
        least = good & (value < least) ? value : least;
        largest = good & (value > largest) ? value : largest;
        finite -= good;
        nan -= value != value;
        zero -= value == none;
    }
    out.least = __builtin_inff(), out.largest = -__builtin_inff();
    for (int lane = 0; lane < 8; ++lane) {
        out.least = least[lane] < out.least ? least[lane] : out.least;
        out.largest = largest[lane] > out.largest ? largest[lane] : out.largest;
        out.finite += finite[lane], out.nan += nan[lane], out.zero += zero[lane];
    }
    for (std::int64_t i = whole; i < count; ++i) {
        const float value = x[i];
        out.nan += value != value;
        out.zero += value == 0.f;
        if (value - value != 0.f) continue;
        ++out.finite;
        out.least = value < out.least ? value : out.least;
        out.largest = value > out.largest ? value : out.largest;
    }
    out.infinite = count - out.finite - out.nan;
    return out;
}

#endif

// Which of eight lanes are kept, in front of the others: a row for each set of them.
struct Orders {
    std::uint8_t rows[256][8];
    constexpr Orders() : rows{} {
        for (int set = 0; set < 256; ++set)
            for (int lane = 0, kept = 0; lane < 8; ++lane)
                if (set >> lane & 1) rows[set][kept++] = static_cast<std::uint8_t>(lane);
    }
};
static constexpr Orders kept_in_front{};

// The bins of finite values that lie in the range. All stores are of whole registers: `places` has eight more than `count`.
static WORKBENCH_INLINE void places_of_values(const float* x, std::int64_t count, const Bins& bins, std::int32_t* places) {
    const std::int32_t last = static_cast<std::int32_t>(bins.count) - 1;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int32_t place = static_cast<std::int32_t>((static_cast<double>(x[i]) - bins.low) * bins.per_unit);
        places[i] = place < last ? place : last;
    }
}

// The same of those that are not zero; returns how many these are.
static WORKBENCH_INLINE std::int64_t places_but_zeros(const float* x, std::int64_t count, const Bins& bins, std::int32_t* places) {
    std::int64_t kept = 0, i = 0;
#ifdef WORKBENCH_AVX2
    const __m256d low = _mm256_set1_pd(bins.low), per_unit = _mm256_set1_pd(bins.per_unit);
    const __m128i last = _mm_set1_epi32(static_cast<std::int32_t>(bins.count) - 1);
    const auto four = [&](__m128 values) {
        const __m256d distance = _mm256_mul_pd(_mm256_sub_pd(_mm256_cvtps_pd(values), low), per_unit);
        return _mm_min_epi32(_mm256_cvttpd_epi32(distance), last);
    };
    for (; i + 8 <= count; i += 8) {
        const __m256 values = _mm256_loadu_ps(x + i);
        const __m256i found = _mm256_set_m128i(four(_mm256_extractf128_ps(values, 1)), four(_mm256_castps256_ps128(values)));
        const int set = _mm256_movemask_ps(_mm256_cmp_ps(values, _mm256_setzero_ps(), _CMP_NEQ_UQ));
        const __m128i order = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kept_in_front.rows[set]));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(places + kept), _mm256_permutevar8x32_epi32(found, _mm256_cvtepu8_epi32(order)));
        kept += __builtin_popcount(static_cast<unsigned>(set));
    }
#endif
    for (; i < count; ++i) {
        places_of_values(x + i, 1, bins, places + kept);
        kept += x[i] != 0.f;
    }
    return kept;
}

// Adds to two tables of counts, by turns: neighbours that fall into one bin would wait for each other in one table, and more
// tables leave the first cache. Of many zeros, as a rectifier leaves them, only their number is counted. Each table has
// one entry more than there are bins, which takes what lies outside.
static Moments histogram_run(const float* x, std::int64_t count, const Bins& bins, std::int32_t* tables) {
    constexpr std::int64_t chunk = 1024;
    std::int32_t places[chunk + 8];
    const std::int32_t outside = static_cast<std::int32_t>(bins.count), last = outside - 1;
    std::int32_t* const other = tables + bins.count + 1;
    Moments all{};
    all.least = __builtin_inff(), all.largest = -__builtin_inff();
    for (std::int64_t start = 0; start < count; start += chunk, x += chunk) {
        const std::int64_t length = count - start < chunk ? count - start : chunk;
        const Moments here = block_extremes(x, length);
        all.least = here.least < all.least ? here.least : all.least;
        all.largest = here.largest > all.largest ? here.largest : all.largest;
        all.finite += here.finite, all.nan += here.nan, all.infinite += here.infinite;
        std::int64_t found = length;
        if (here.finite < length || static_cast<double>(here.least) < bins.low || static_cast<double>(here.largest) > bins.high) {
            for (std::int64_t i = 0; i < length; ++i) {
                const double value = static_cast<double>(x[i]);
                const bool inside = (value >= bins.low) & (value <= bins.high);
                const std::int32_t place = static_cast<std::int32_t>((inside ? value - bins.low : 0.0) * bins.per_unit);
                places[i] = inside ? (place < last ? place : last) : outside;
            }
        } else if (here.zero > length / 4) {
            found = places_but_zeros(x, length, bins, places);
            const float zero = 0.f;
            std::int32_t place;
            places_of_values(&zero, 1, bins, &place);
            tables[place] += static_cast<std::int32_t>(here.zero);
        } else {
            places_of_values(x, length, bins, places);
        }
        std::int64_t i = 0;
        for (; i + 2 <= found; i += 2) ++tables[places[i]], ++other[places[i + 1]];
        for (; i < found; ++i) ++tables[places[i]];
    }
    return all;
}
