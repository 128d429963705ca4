// The mean of a box of codes for each channel. Included once per instruction set; see dispatch.hpp. Compiled without contraction,
// as NumPy computes.

typedef std::uint8_t bytes16 __attribute__((vector_size(16)));
typedef std::uint8_t bytes16_unaligned __attribute__((vector_size(16), aligned(1), may_alias));

// GCC widens vectors in halves, which takes four instructions for one.
static WORKBENCH_INLINE halves16 wider(bytes16 codes) {
#ifdef WORKBENCH_AVX2
    return (halves16)_mm256_cvtepu8_epi16((__m128i)codes);
#else
    return __builtin_convertvector(codes, halves16);
#endif
}
static WORKBENCH_INLINE ints16 wider(halves16 sums) {
#ifdef WORKBENCH_AVX512
    return (ints16)_mm512_cvtepu16_epi32((__m256i)sums);
#elif defined(WORKBENCH_AVX2)
    const __m256i both = (__m256i)sums;
    const __m256i halves[2] = {_mm256_cvtepu16_epi32(_mm256_castsi256_si128(both)), _mm256_cvtepu16_epi32(_mm256_extracti128_si256(both, 1))};
    ints16 made;
    __builtin_memcpy(&made, halves, sizeof made);
    return made;
#else
    return __builtin_convertvector(sums, ints16);
#endif
}
static WORKBENCH_INLINE halves16 codes_at(const std::uint8_t* codes, std::uint8_t flip) {
    return wider((bytes16)(*reinterpret_cast<const bytes16_unaligned*>(codes)) ^ flip);
}

template <typename Tap>
static WORKBENCH_INLINE void for_taps(const std::uint8_t* image, const CodesBox& box, Tap&& tap) {
    for (std::int64_t z = box.from[0]; z < box.to[0]; ++z)
        for (std::int64_t y = box.from[1]; y < box.to[1]; ++y) {
            const std::uint8_t* at = image + z * box.step[0] + y * box.step[1];
            for (std::int64_t x = box.from[2]; x < box.to[2]; ++x) tap(at + x * box.step[2]);
        }
}

static WORKBENCH_INLINE std::uint8_t code_of_sum(std::int32_t sum, const CodesMean& mean) {
    const float code = __builtin_rintf(static_cast<float>(sum) * mean.factor + static_cast<float>(mean.zero));
    const float bounded = code < 255.f + mean.low ? code : 255.f + mean.low;
    return static_cast<std::uint8_t>(static_cast<std::int32_t>(bounded > mean.low ? bounded : mean.low));
}

// Sixteen at once: bounded first, which rounding does not change.
static WORKBENCH_INLINE void codes_of_sums(ints16 sums, const CodesMean& mean, std::uint8_t* out) {
#if defined(WORKBENCH_AVX2) && !defined(WORKBENCH_AVX512)
    __m256i halves[2];
    __builtin_memcpy(halves, &sums, sizeof sums);
    for (__m256i& half : halves) {
        const __m256 scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(half), _mm256_set1_ps(mean.factor));
        __m256 code = _mm256_add_ps(scaled, _mm256_set1_ps(static_cast<float>(mean.zero)));
        code = _mm256_max_ps(_mm256_min_ps(code, _mm256_set1_ps(255.f + mean.low)), _mm256_set1_ps(mean.low));
        half = _mm256_and_si256(_mm256_cvtps_epi32(code), _mm256_set1_epi32(255));
    }
    // Packing takes turns between the halves of registers.
    const __m256i pairs = _mm256_permute4x64_epi64(_mm256_packus_epi32(halves[0], halves[1]), 0xd8);
    const __m128i codes = _mm_packus_epi16(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), codes);
#else
    floats16 code = __builtin_convertvector(sums, floats16) * mean.factor + static_cast<float>(mean.zero);
#if defined(WORKBENCH_AVX512)
    code = lesser(code, all(255.f + mean.low));
    code = larger(code, all(mean.low));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32((__m512)code)));
#else
    code = code < 255.f + mean.low ? code : floats16{} + (255.f + mean.low);
    code = code > mean.low ? code : floats16{} + mean.low;
    for (int c = 0; c < 16; ++c) out[c] = static_cast<std::uint8_t>(static_cast<std::int32_t>(__builtin_rintf(code[c])));
#endif
#endif
}

// Sixteen times `many` channels from one on: bytes are added in 16 bits as often as these hold, then in 32.
template <int many>
static WORKBENCH_INLINE void average_vectors(const std::uint8_t* image, const CodesBox& box, const CodesMean& mean,
                                             std::int32_t start, std::uint8_t* out) {
    constexpr int most = 65535 / 255;
    halves16 part[many];
    ints16 sums[many];
    for (int v = 0; v < many; ++v) part[v] = halves16{}, sums[v] = ints16{} + start;
    const auto gather = [&] {
        for (int v = 0; v < many; ++v) {
            sums[v] += wider(part[v]);
            part[v] = halves16{};
        }
    };
    int taps = 0;
    for_taps(image, box, [&](const std::uint8_t* tap) {
        for (int v = 0; v < many; ++v)
            part[v] += codes_at(tap + 16 * v, mean.flip);
        if (++taps == most) gather(), taps = 0;
    });
    gather();
    for (int v = 0; v < many; ++v) codes_of_sums(sums[v], mean, out + 16 * v);
}

// The same of few codes, whose places are known: they fit 16 bits.
template <int many>
static WORKBENCH_INLINE void average_few(const std::uint8_t* image, const std::int64_t* places, std::int64_t count, const CodesMean& mean,
                                         std::int32_t start, std::uint8_t* out) {
    halves16 part[many];
    for (int v = 0; v < many; ++v) part[v] = halves16{};
    for (std::int64_t i = 0; i < count; ++i)
        for (int v = 0; v < many; ++v)
            part[v] += codes_at(image + places[i] + 16 * v, mean.flip);
    for (int v = 0; v < many; ++v) codes_of_sums(wider(part[v]) + start, mean, out + 16 * v);
}

// Signed codes are taken as unsigned ones, which are 128 more: their top bit is flipped.
static void average_box(const std::uint8_t* image, const CodesBox& box, const CodesMean& mean, std::uint8_t* out) {
    const std::int64_t count = (box.to[0] - box.from[0]) * (box.to[1] - box.from[1]) * (box.to[2] - box.from[2]);
    const std::int32_t start = -(mean.zero + mean.flip) * static_cast<std::int32_t>(count);
    constexpr std::int64_t few = 64;
    std::int64_t c = 0;
    if (count <= few) {
        std::int64_t places[few];
        std::int64_t* place = places;
        for_taps(image, box, [&](const std::uint8_t* tap) { *place++ = tap - image; });
        for (; c + 64 <= box.channels; c += 64) average_few<4>(image + c, places, count, mean, start, out + c);
        for (; c + 16 <= box.channels; c += 16) average_few<1>(image + c, places, count, mean, start, out + c);
    }
    for (; c + 64 <= box.channels; c += 64) average_vectors<4>(image + c, box, mean, start, out + c);
    for (; c + 16 <= box.channels; c += 16) average_vectors<1>(image + c, box, mean, start, out + c);
    for (; c < box.channels; ++c) {
        std::int32_t sum = start;
        for_taps(image + c, box, [&](const std::uint8_t* tap) { sum += static_cast<std::uint8_t>(*tap ^ mean.flip); });
        out[c] = code_of_sum(sum, mean);
    }
}

// The sum of codes that lie together.
static WORKBENCH_INLINE std::int32_t sum_of_run(const std::uint8_t* codes, std::int64_t count, std::uint8_t flip) {
    std::int32_t sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += static_cast<std::uint8_t>(codes[i] ^ flip);
    return sum;
}

// All windows of one plane that lies row by row, and has windows `begins` to `ends` along each dim. Rows are added up first, in `row`,
// which has a place for each code of one.
static void average_plane(const std::uint8_t* plane, const CodesWindows& of, const float* factors, CodesMean mean, std::int32_t* row,
                          std::uint8_t* out) {
    const std::int64_t wide = of.sizes[2];
    const std::int32_t less = mean.zero + mean.flip;
    for (std::int64_t z = 0; z < of.places[0]; ++z)
        for (std::int64_t y = 0; y < of.places[1]; ++y) {
            const std::int64_t deep = of.ends[0][z] - of.begins[0][z], high = of.ends[1][y] - of.begins[1][y];
            const std::uint8_t* first = plane + (of.begins[0][z] * of.sizes[1] + of.begins[1][y]) * wide;
            // What lies together is one run: whole planes, or rows that are no higher than one.
            const bool whole = of.places[2] == 1 && of.ends[2][0] - of.begins[2][0] == wide && (deep == 1 || high == of.sizes[1]);
            if (!whole) {
                for (std::int64_t x = 0; x < wide; ++x) row[x] = 0;
                for (std::int64_t d = 0; d < deep; ++d)
                    for (std::int64_t h = 0; h < high; ++h) {
                        const std::uint8_t* codes = first + (d * of.sizes[1] + h) * wide;
                        for (std::int64_t x = 0; x < wide; ++x) row[x] += static_cast<std::uint8_t>(codes[x] ^ mean.flip);
                    }
            }
            for (std::int64_t x = 0; x < of.places[2]; ++x) {
                const std::int64_t begin = of.begins[2][x], end = of.ends[2][x];
                std::int32_t sum = -less * static_cast<std::int32_t>(deep * high * (end - begin));
                if (whole)
                    sum += sum_of_run(first, deep * high * wide, mean.flip);
                else
                    for (std::int64_t i = begin; i < end; ++i) sum += row[i];
                mean.factor = *factors++;
                *out++ = code_of_sum(sum, mean);
            }
        }
}
