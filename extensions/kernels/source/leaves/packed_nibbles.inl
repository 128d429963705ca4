// Products of floats with weights of four bits, which are spread to floats in registers. Included once per instruction set;
// see dispatch.hpp.

#ifdef WORKBENCH_AVX512
typedef __m512 Spread[2];

// Sixteen weights of a row of bytes from each half: their codes as floats, looked up by four bits.
static WORKBENCH_INLINE void spread_codes(const std::uint8_t* bytes, Spread& out) {
    const __m512 table = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i wide = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
    out[0] = _mm512_permutexvar_ps(wide, table);
    out[1] = _mm512_permutexvar_ps(_mm512_srli_epi32(wide, 4), table);
}
#else
typedef float Spread[2][16];

static WORKBENCH_INLINE void spread_codes(const std::uint8_t* bytes, Spread& out) {
    for (int i = 0; i < 16; ++i) {
        out[0][i] = static_cast<float>(bytes[i] & 15);
        out[1][i] = static_cast<float>(bytes[i] >> 4);
    }
}
#endif

// One panel of 32 outputs of up to four rows: sums of each group of inputs, times its scale, less its zero points.
// `sums` holds the sums of each row's inputs by group.
template <int rows>
static WORKBENCH_INLINE void nibble_rows(const float* const* x, const float* const* sums, const std::uint8_t* bytes,
                                         const float* scales, const float* zeros, std::int64_t inputs, std::int64_t group,
                                         float* const* out) {
    const std::int64_t groups = inputs / group;
#ifdef WORKBENCH_AVX512
    __m512 totals[rows][2];
    for (int r = 0; r < rows; ++r) totals[r][0] = totals[r][1] = _mm512_setzero_ps();
    for (std::int64_t g = 0; g < groups; ++g) {
        // Two sets of sums: one product waits for the one before it otherwise.
        __m512 parts[2][rows][2];
        for (int r = 0; r < rows; ++r)
            for (int h = 0; h < 2; ++h) parts[0][r][h] = parts[1][r][h] = _mm512_setzero_ps();
        std::int64_t k = g * group;
        const std::int64_t end = k + group;
        for (; k + 2 <= end; k += 2)
            for (int even = 0; even < 2; ++even) {
                Spread codes;
                spread_codes(bytes + (k + even) * 16, codes);
                for (int r = 0; r < rows; ++r) {
                    const __m512 value = _mm512_set1_ps(x[r][k + even]);
                    for (int h = 0; h < 2; ++h) parts[even][r][h] = _mm512_fmadd_ps(value, codes[h], parts[even][r][h]);
                }
            }
        for (; k < end; ++k) {
            Spread codes;
            spread_codes(bytes + k * 16, codes);
            for (int r = 0; r < rows; ++r)
                for (int h = 0; h < 2; ++h)
                    parts[0][r][h] = _mm512_fmadd_ps(_mm512_set1_ps(x[r][k]), codes[h], parts[0][r][h]);
        }
        for (int h = 0; h < 2; ++h) {
            const __m512 scale = _mm512_loadu_ps(scales + g * 32 + 16 * h), zero = _mm512_loadu_ps(zeros + g * 32 + 16 * h);
            for (int r = 0; r < rows; ++r) {
                const __m512 sum = _mm512_add_ps(parts[0][r][h], parts[1][r][h]);
                totals[r][h] =
                    _mm512_fmadd_ps(_mm512_fnmadd_ps(_mm512_set1_ps(sums[r][g]), zero, sum), scale, totals[r][h]);
            }
        }
    }
    for (int r = 0; r < rows; ++r)
        for (int h = 0; h < 2; ++h) _mm512_storeu_ps(out[r] + 16 * h, totals[r][h]);
#else
    for (int r = 0; r < rows; ++r) {
        float totals[2][16] = {};
        for (std::int64_t g = 0; g < groups; ++g) {
            float parts[2][16] = {};
            for (std::int64_t k = g * group; k < (g + 1) * group; ++k) {
                Spread codes;
                spread_codes(bytes + k * 16, codes);
                const float value = x[r][k];
                for (int h = 0; h < 2; ++h)
                    for (int i = 0; i < 16; ++i) parts[h][i] += value * codes[h][i];
            }
            for (int h = 0; h < 2; ++h)
                for (int i = 0; i < 16; ++i)
                    totals[h][i] += (parts[h][i] - sums[r][g] * zeros[g * 32 + 16 * h + i]) * scales[g * 32 + 16 * h + i];
        }
        for (int h = 0; h < 2; ++h)
            for (int i = 0; i < 16; ++i) out[r][16 * h + i] = totals[h][i];
    }
#endif
}

static void nibble_products(const float* const* x, const float* const* sums, std::int64_t rows, const std::uint8_t* bytes,
                            const float* scales, const float* zeros, std::int64_t inputs, std::int64_t group,
                            float* const* out) {
    switch (rows) {
        case 1: return nibble_rows<1>(x, sums, bytes, scales, zeros, inputs, group, out);
        case 2: return nibble_rows<2>(x, sums, bytes, scales, zeros, inputs, group, out);
        case 3: return nibble_rows<3>(x, sums, bytes, scales, zeros, inputs, group, out);
        default: return nibble_rows<4>(x, sums, bytes, scales, zeros, inputs, group, out);
    }
}
