// Arithmetic on codes, and tables of them. Included once per instruction set; see dispatch.hpp. Compiled without contraction, as
// NumPy computes.

enum { codes_together = 64 };

#if defined(WORKBENCH_AVX2)
// Of the codes in a register those whose upper half is `part`, by their lower half: what is less than 16 after that is taken
// off keeps its highest bit clear, and the others give 0.
static WORKBENCH_INLINE __m256i looked_up_part(__m256i codes, int part, __m256i table) {
    const __m256i rest = _mm256_sub_epi8(codes, _mm256_set1_epi8(static_cast<char>(16 * part)));
    return _mm256_shuffle_epi8(table, _mm256_adds_epu8(rest, _mm256_set1_epi8(0x70)));
}
#endif

static void look_up(const std::uint8_t* codes, const std::uint8_t* table, std::int64_t count, std::uint8_t* out) {
    std::int64_t i = 0;
#if defined(WORKBENCH_AVX2)
    if (count >= 32) {
        __m256i parts[16];
        for (int part = 0; part < 16; ++part)
            parts[part] = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table + 16 * part)));
        for (; i + 32 <= count; i += 32) {
            const __m256i here = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + i));
            __m256i found = looked_up_part(here, 0, parts[0]);
            for (int part = 1; part < 16; ++part) found = _mm256_or_si256(found, looked_up_part(here, part, parts[part]));
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), found);
        }
    }
#endif
    for (; i < count; ++i) out[i] = table[codes[i]];
}

static WORKBENCH_INLINE std::uint8_t code_of(float value, const CodesOut& to) {
    const float code = __builtin_rintf(value * to.inverse) + to.zero;
    const float most = code < to.high ? code : to.high;
    return static_cast<std::uint8_t>(static_cast<std::int32_t>(most > to.low ? most : to.low));
}

static void multiply_codes(const std::uint8_t* a, const CodesIn& of_a, const std::uint8_t* b, const CodesIn& of_b,
                           std::int64_t count, const CodesOut& to, std::uint8_t* out) {
    for (std::int64_t i = 0; i < count; ++i)
        out[i] = code_of((static_cast<float>(a[i]) - of_a.zero) * (static_cast<float>(b[i]) - of_b.zero), to);
}

#if defined(WORKBENCH_AVX512)

template <bool plain>
static WORKBENCH_INLINE __m512i sum_of_some(const std::uint8_t* codes, const std::uint8_t* others, const CodesSum& of) {
    const auto real = [](const std::uint8_t* from, float less, float scale, float offset) {
        __m512 code = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
        if (!plain) code = _mm512_sub_ps(code, _mm512_set1_ps(less));
        return _mm512_fmadd_ps(code, _mm512_set1_ps(scale), _mm512_set1_ps(offset));
    };
    __m512 value = _mm512_add_ps(real(codes, of.less, of.scale, of.offset), real(others, of.other_less, of.other_scale, of.other_offset));
    value = _mm512_fmadd_ps(value, _mm512_set1_ps(of.inverse), _mm512_set1_ps(of.before));
    // The bound is whole: it may come before rounding. What is far too small becomes the least number there is.
    if (!plain) value = _mm512_min_ps(value, _mm512_set1_ps(of.high));
    return _mm512_cvtps_epi32(value);
}

template <bool plain>
static WORKBENCH_INLINE void add_some_codes(const std::uint8_t* codes, const std::uint8_t* others, const CodesSum& of, float, std::uint8_t* out) {
    // Nothing on the way from a sum to its code changes an order, so that the code of 0 is the least of what is rectified.
    float low = of.relu ? __builtin_rintf(of.before) : of.low;
    low = low < of.high ? low : of.high;
    low = low > of.low ? low : of.low;
    const __m512i least = _mm512_set1_epi8(static_cast<char>(static_cast<std::int32_t>(low) + of.after));
    const __m512i most = _mm512_set1_epi8(static_cast<char>(static_cast<std::int32_t>(of.high) + of.after));
    const __m512i after = _mm512_set1_epi16(static_cast<short>(of.after));
    __m512i sums[4];
    for (int b = 0; b < 4; ++b) sums[b] = sum_of_some<plain>(codes + 16 * b, others + 16 * b, of);
    // Bytes of a quarter of each sixteen lie together after packing.
    const __m512i packed = _mm512_packus_epi16(_mm512_adds_epi16(_mm512_packs_epi32(sums[0], sums[1]), after),
                                               _mm512_adds_epi16(_mm512_packs_epi32(sums[2], sums[3]), after));
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    _mm512_storeu_si512(out, _mm512_min_epu8(_mm512_max_epu8(_mm512_permutexvar_epi32(order, packed), least), most));
}

#else

template <bool>
static WORKBENCH_INLINE void add_some_codes(const std::uint8_t* codes, const std::uint8_t* others, const CodesSum& of, float least,
                                            std::uint8_t* __restrict out) {
    for (std::int64_t i = 0; i < codes_together; ++i) {
        const float own = __builtin_fmaf(static_cast<float>(codes[i]) - of.less, of.scale, of.offset);
        const float other = __builtin_fmaf(static_cast<float>(others[i]) - of.other_less, of.other_scale, of.other_offset);
        float value = own + other;
        value = value < least ? least : value;
        value = __builtin_rintf(__builtin_fmaf(value, of.inverse, of.before));
        value = value < of.high ? value : of.high;
        value = value > of.low ? value : of.low;
        out[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(value) + of.after);
    }
}

#endif

// Over the first codes, or elsewhere: by way of a few bytes that nothing else shows, as vectors want it.
template <bool plain>
static WORKBENCH_INLINE void add_all_codes(const std::uint8_t* codes, const std::uint8_t* others, const CodesSum& sum,
                                           std::int64_t count, std::uint8_t* out) {
    constexpr int together = codes_together;
    const CodesSum of = sum;
    const float least = of.relu ? 0.f : -__builtin_inff();
    std::uint8_t made[together];
    std::int64_t i = 0;
    for (; i + together <= count; i += together) {
        add_some_codes<plain>(codes + i, others + i, of, least, made);
        __builtin_memcpy(out + i, made, together);
    }
    if (i == count) return;
    std::uint8_t last[2][together] = {};
    for (std::int64_t k = 0; i + k < count; ++k) last[0][k] = codes[i + k], last[1][k] = others[i + k];
    add_some_codes<plain>(last[0], last[1], of, least, made);
    for (std::int64_t k = 0; i + k < count; ++k) out[i + k] = made[k];
}

static void add_to_codes(const std::uint8_t* codes, const std::uint8_t* others, const CodesSum& sum, std::int64_t count,
                         std::uint8_t* out) {
    if (sum.plain)
        add_all_codes<true>(codes, others, sum, count, out);
    else
        add_all_codes<false>(codes, others, sum, count, out);
}
