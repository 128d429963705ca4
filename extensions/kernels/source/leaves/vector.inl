// Eight floats at a time, or as many as a register holds. Included once per instruction set; see dispatch.hpp.

static WORKBENCH_INLINE floats8 load(const float* p) { return *reinterpret_cast<const floats8_unaligned*>(p); }
static WORKBENCH_INLINE ints8 load(const std::int32_t* p) { return *reinterpret_cast<const ints8_unaligned*>(p); }
static WORKBENCH_INLINE void store(float* p, floats8 v) { *reinterpret_cast<floats8_unaligned*>(p) = v; }
static WORKBENCH_INLINE void store(std::int32_t* p, ints8 v) { *reinterpret_cast<ints8_unaligned*>(p) = v; }
static WORKBENCH_INLINE floats8 spread(float v) { return floats8{v, v, v, v, v, v, v, v}; }
static WORKBENCH_INLINE ints8 spread(std::int32_t v) { return ints8{v, v, v, v, v, v, v, v}; }

// `floats`: 16 lanes where there is AVX-512, 8 elsewhere.
#ifdef WORKBENCH_AVX512
typedef floats16 floats;
typedef ints16 ints;
constexpr int lanes = 16;
static WORKBENCH_INLINE floats load_floats(const float* p) { return *reinterpret_cast<const floats16_unaligned*>(p); }
static WORKBENCH_INLINE void store_floats(float* p, floats v) { *reinterpret_cast<floats16_unaligned*>(p) = v; }
static WORKBENCH_INLINE floats all(float v) { return (floats)_mm512_set1_ps(v); }
// The first `count` lanes, the others zero; and back.
static WORKBENCH_INLINE floats load_some(const float* p, std::int64_t count) {
    return (floats)_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), p);
}
static WORKBENCH_INLINE void store_some(float* p, floats v, std::int64_t count) {
    _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << count) - 1), (__m512)v);
}
// The first `count` lanes of a vector, the others zero.
static WORKBENCH_INLINE floats keep_some(floats v, std::int64_t count) {
    return (floats)_mm512_maskz_mov_ps(static_cast<__mmask16>((1u << count) - 1), (__m512)v);
}
// Past the caches; p is a multiple of 64 bytes.
static WORKBENCH_INLINE void stream_floats(float* p, floats v) { _mm512_stream_ps(p, (__m512)v); }
// a < b ? a : b and a > b ? a : b; NaN in b wins, one in a does not.
static WORKBENCH_INLINE floats lesser(floats a, floats b) { return (floats)_mm512_min_ps((__m512)a, (__m512)b); }
static WORKBENCH_INLINE floats larger(floats a, floats b) { return (floats)_mm512_max_ps((__m512)a, (__m512)b); }
#else
typedef floats8 floats;
typedef ints8 ints;
constexpr int lanes = 8;
static WORKBENCH_INLINE floats load_floats(const float* p) { return load(p); }
static WORKBENCH_INLINE void store_floats(float* p, floats v) { store(p, v); }
static WORKBENCH_INLINE floats all(float v) { return spread(v); }
static WORKBENCH_INLINE ints first_lanes(std::int64_t count) {
    return ints{0, 1, 2, 3, 4, 5, 6, 7} < spread(static_cast<std::int32_t>(count));
}
static WORKBENCH_INLINE floats keep_some(floats v, std::int64_t count) { return first_lanes(count) ? v : all(0.f); }
static WORKBENCH_INLINE floats load_some(const float* p, std::int64_t count) {
#ifdef WORKBENCH_AVX2
    return (floats)_mm256_maskload_ps(p, (__m256i)first_lanes(count));
#else
    floats v = all(0.f);
    for (std::int64_t i = 0; i < count; ++i) v[i] = p[i];
    return v;
#endif
}
static WORKBENCH_INLINE void store_some(float* p, floats v, std::int64_t count) {
#ifdef WORKBENCH_AVX2
    _mm256_maskstore_ps(p, (__m256i)first_lanes(count), (__m256)v);
#else
    for (std::int64_t i = 0; i < count; ++i) p[i] = v[i];
#endif
}
static WORKBENCH_INLINE void stream_floats(float* p, floats v) {
#ifdef WORKBENCH_AVX2
    _mm256_stream_ps(p, (__m256)v);
#else
    store(p, v);
#endif
}
static WORKBENCH_INLINE floats lesser(floats a, floats b) { return a < b ? a : b; }
static WORKBENCH_INLINE floats larger(floats a, floats b) { return a > b ? a : b; }
#endif

// bfloat16 in memory, floats in registers: what is read is exact, what is written is rounded, see bfloat16.hpp.
#ifdef WORKBENCH_AVX512
typedef halves16 halves;
typedef halves16_unaligned halves_unaligned;
#else
typedef halves8 halves;
typedef halves8_unaligned halves_unaligned;
#endif
// Bits, not numbers: for some NaN the sum below goes past the largest signed one.
typedef std::uint32_t words8 __attribute__((vector_size(32)));
static WORKBENCH_INLINE floats8 widened(halves8 bits) { return (floats8)(__builtin_convertvector(bits, words8) << 16); }
static WORKBENCH_INLINE halves8 narrowed(floats8 v) {
    const words8 whole = (words8)v, rounded = whole + 0x7fffu + ((whole >> 16) & 1u);
    const words8 kept = v != v ? (whole & 0x80000000u) | 0x7fc00000u : rounded;
#ifdef WORKBENCH_AVX2
    const __m256i upper = _mm256_srli_epi32((__m256i)kept, 16);
    return (halves8)_mm_packus_epi32(_mm256_castsi256_si128(upper), _mm256_extracti128_si256(upper, 1));
#else
    return __builtin_convertvector(kept >> 16, halves8);
#endif
}
#ifdef WORKBENCH_AVX512
static WORKBENCH_INLINE floats widened(halves bits) {
    return (floats)_mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i)bits), 16);
}
static WORKBENCH_INLINE halves narrowed(floats v) {
    const __m512i whole = (__m512i)v, up = _mm512_add_epi32(whole, _mm512_set1_epi32(0x7fff));
    const __mmask16 odd = _mm512_test_epi32_mask(whole, _mm512_set1_epi32(0x10000));
    const __m512i rounded = _mm512_mask_add_epi32(up, odd, up, _mm512_set1_epi32(1));
    const __mmask16 nan = _mm512_cmp_ps_mask((__m512)v, (__m512)v, _CMP_UNORD_Q);
    const __m512i sign = _mm512_and_epi32(whole, _mm512_set1_epi32(static_cast<int>(0x80000000)));
    const __m512i kept = _mm512_mask_or_epi32(rounded, nan, sign, _mm512_set1_epi32(0x7fc00000));
    // The upper half of each number, side by side.
    const __m512i upper = _mm512_set_epi64(0, 0, 0, 0, 0x001f001d001b0019, 0x0017001500130011, 0x000f000d000b0009, 0x0007000500030001);
    return (halves)_mm512_castsi512_si256(_mm512_permutexvar_epi16(upper, kept));
}
#endif
static WORKBENCH_INLINE floats8 load(const bfloat16* p) { return widened(*reinterpret_cast<const halves8_unaligned*>(p)); }
static WORKBENCH_INLINE void store(bfloat16* p, floats8 v) { *reinterpret_cast<halves8_unaligned*>(p) = narrowed(v); }
static WORKBENCH_INLINE halves load_bits(const bfloat16* p) { return *reinterpret_cast<const halves_unaligned*>(p); }
static WORKBENCH_INLINE halves load_some_bits(const bfloat16* p, std::int64_t count) {
#ifdef WORKBENCH_AVX512
    return (halves)_mm256_maskz_loadu_epi16(static_cast<__mmask16>((1u << count) - 1), p);
#else
    halves bits = {};
    for (std::int64_t i = 0; i < count; ++i) bits[i] = p[i].bits;
    return bits;
#endif
}
static WORKBENCH_INLINE floats load_floats(const bfloat16* p) { return widened(load_bits(p)); }
static WORKBENCH_INLINE floats load_some(const bfloat16* p, std::int64_t count) { return widened(load_some_bits(p, count)); }
static WORKBENCH_INLINE void store_floats(bfloat16* p, floats v) { *reinterpret_cast<halves_unaligned*>(p) = narrowed(v); }
static WORKBENCH_INLINE void store_some(bfloat16* p, floats v, std::int64_t count) {
    const halves bits = narrowed(v);
#ifdef WORKBENCH_AVX512
    _mm256_mask_storeu_epi16(p, static_cast<__mmask16>((1u << count) - 1), (__m256i)bits);
#else
    for (std::int64_t i = 0; i < count; ++i) p[i].bits = bits[i];
#endif
}
static WORKBENCH_INLINE void stream_floats(bfloat16* p, floats v) {
#if defined(WORKBENCH_AVX512)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(p), (__m256i)narrowed(v));
#elif defined(WORKBENCH_AVX2)
    _mm_stream_si128(reinterpret_cast<__m128i*>(p), (__m128i)narrowed(v));
#else
    store_floats(p, v);
#endif
}

static WORKBENCH_INLINE void streams_done() {
#ifdef WORKBENCH_AVX2
    _mm_sfence();
#endif
}

// Sums in an order that does not depend on what stands around it.
static WORKBENCH_INLINE float lanes_sum(floats8 v) {
#ifdef WORKBENCH_AVX2
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
#else
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
#endif
}
#ifdef WORKBENCH_AVX512
static WORKBENCH_INLINE float lanes_sum(floats v) {
    const __m512 whole = (__m512)v;
    return lanes_sum((floats8)_mm512_castps512_ps256(whole) + (floats8)_mm512_extractf32x8_ps(whole, 1));
}
#endif

// Calls at(i) for whole vectors and some(i, count) for what is left at the ends. Streamed: results go past the caches,
// which spares reading memory that is only written; then the first vectors reach to where `out` is aligned.
template <typename T, typename At, typename Some>
static WORKBENCH_INLINE void along(const T* out, std::int64_t count, bool streamed, At&& at, Some&& some) {
    std::int64_t i = 0;
    if (streamed) {
        const std::int64_t past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(out) / sizeof(T) % lanes);
        const std::int64_t head = past ? lanes - past : 0;
        if (head && head < count) some(std::int64_t{0}, head), i = head;
    }
    for (; i + lanes <= count; i += lanes) at(i);
    if (i < count) some(i, count - i);
}

// The same without an end in memory: at(i) for whole vectors, some(i, count) for the rest.
template <typename At, typename Some>
static WORKBENCH_INLINE void along(std::int64_t count, At&& at, Some&& some) {
    along(static_cast<const float*>(nullptr), count, false, at, some);
}
