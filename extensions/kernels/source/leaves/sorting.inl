// Which values may be among the largest. Included once per instruction set; see dispatch.hpp.

// Writes the places in [begin, count) of values that are not worse than `limit`, at most `room` of them rounded up to
// whole registers, and where the search stopped.
static std::int64_t candidates(const float* x, std::int64_t* begin, std::int64_t count, float limit, bool largest,
                               std::uint32_t* places, std::int64_t room) {
    std::int64_t found = 0, i = *begin;
    const floats bound = all(limit);
    for (; i < count && found < room; i += lanes) {
        const std::int64_t rest = count - i;
        const floats value = rest >= lanes ? load_floats(x + i) : load_some(x + i, rest);
#if defined(WORKBENCH_AVX512)
        std::uint32_t mask = largest ? _mm512_cmp_ps_mask((__m512)value, (__m512)bound, _CMP_NLE_UQ)
                                     : _mm512_cmp_ps_mask((__m512)value, (__m512)bound, _CMP_NGE_UQ);
#elif defined(WORKBENCH_AVX2)
        std::uint32_t mask = static_cast<std::uint32_t>(
            _mm256_movemask_ps(largest ? _mm256_cmp_ps((__m256)value, (__m256)bound, _CMP_NLE_UQ)
                                       : _mm256_cmp_ps((__m256)value, (__m256)bound, _CMP_NGE_UQ)));
#else
        std::uint32_t mask = 0;
        for (int lane = 0; lane < lanes; ++lane)
            mask |= static_cast<std::uint32_t>(largest ? !(value[lane] <= bound[lane]) : !(value[lane] >= bound[lane])) << lane;
#endif
        if (rest < lanes) mask &= (1u << rest) - 1;
        for (; mask; mask &= mask - 1) places[found++] = static_cast<std::uint32_t>(i + __builtin_ctz(mask));
    }
    *begin = i < count ? i : count;
    return found;
}

// Running sums of a row: within a register by doubling steps, from register to register in a double.
static void running_sum(const float* x, std::int64_t count, float* out) {
    double carry = 0;
    std::int64_t i = 0;
#if defined(WORKBENCH_AVX2)
    for (; i + 8 <= count; i += 8) {
        __m256 v = _mm256_loadu_ps(x + i);
        const __m256i one = _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6), two = _mm256_setr_epi32(0, 0, 0, 1, 2, 3, 4, 5),
                      four = _mm256_setr_epi32(0, 0, 0, 0, 0, 1, 2, 3), last = _mm256_set1_epi32(7);
        const __m256 none = _mm256_setzero_ps();
        v = _mm256_add_ps(v, _mm256_blend_ps(_mm256_permutevar8x32_ps(v, one), none, 1));
        v = _mm256_add_ps(v, _mm256_blend_ps(_mm256_permutevar8x32_ps(v, two), none, 3));
        v = _mm256_add_ps(v, _mm256_blend_ps(_mm256_permutevar8x32_ps(v, four), none, 15));
        const __m256d before = _mm256_set1_pd(carry);
        const __m256d low = _mm256_add_pd(_mm256_cvtps_pd(_mm256_castps256_ps128(v)), before);
        const __m256d high = _mm256_add_pd(_mm256_cvtps_pd(_mm256_extractf128_ps(v, 1)), before);
        _mm256_storeu_ps(out + i, _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low)));
        carry += static_cast<double>(_mm256_cvtss_f32(_mm256_permutevar8x32_ps(v, last)));
    }
#endif
    for (; i < count; ++i) {
        carry += static_cast<double>(x[i]);
        out[i] = static_cast<float>(carry);
    }
}
