// Products of floats with weights of four bits, which are spread to floats in registers. Included once per instruction set;
// see dispatch.hpp.

constexpr int spread_registers = nibble_outputs / lanes;
typedef floats Spread[spread_registers];

// Sixteen weights of a row of bytes from each half: their codes as floats.
static WORKBENCH_INLINE void spread_codes(const std::uint8_t* bytes, Spread& out) {
#if defined(WORKBENCH_AVX512)
    // Looked up by four bits.
    const __m512 table = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i wide = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
    out[0] = (floats)_mm512_permutexvar_ps(wide, table);
    out[1] = (floats)_mm512_permutexvar_ps(_mm512_srli_epi32(wide, 4), table);
#else
    for (int h = 0; h < 2; ++h) {
#if defined(WORKBENCH_AVX2)
        const ints wide = (ints)_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes + 8 * h)));
#else
        ints wide;
        for (int i = 0; i < 8; ++i) wide[i] = bytes[8 * h + i];
#endif
        out[h] = __builtin_convertvector(wide & 15, floats);
        out[2 + h] = __builtin_convertvector(wide >> 4, floats);
    }
#endif
}

// One panel of 32 outputs of some rows: sums of each group of inputs, times its scale, less its zero points. `sums` holds the
// sums of each row's inputs by group.
template <int rows>
static WORKBENCH_INLINE void nibble_rows(const float* const* x, const float* const* sums, const std::uint8_t* bytes,
                                         const float* scales, const float* zeros, std::int64_t inputs, std::int64_t group,
                                         float* const* out) {
    // Two sets of sums where registers are left for them: one product waits for the one before it otherwise.
    constexpr int sets = 2 * rows * spread_registers <= lanes ? 2 : 1;
    const std::int64_t groups = inputs / group;
    floats totals[rows][spread_registers];
    for (int r = 0; r < rows; ++r)
        for (int h = 0; h < spread_registers; ++h) totals[r][h] = all(0.f);
    for (std::int64_t g = 0; g < groups; ++g) {
        floats parts[sets][rows][spread_registers];
        for (int set = 0; set < sets; ++set)
            for (int r = 0; r < rows; ++r)
                for (int h = 0; h < spread_registers; ++h) parts[set][r][h] = all(0.f);
        std::int64_t k = g * group;
        const std::int64_t end = k + group;
        const auto take = [&](std::int64_t at, int set) {
            Spread codes;
            spread_codes(bytes + at * 16, codes);
            for (int r = 0; r < rows; ++r) {
                const floats value = all(x[r][at]);
                for (int h = 0; h < spread_registers; ++h) parts[set][r][h] += value * codes[h];
            }
        };
        for (; k + sets <= end; k += sets)
            for (int set = 0; set < sets; ++set) take(k + set, set);
        for (; k < end; ++k) take(k, 0);
        for (int h = 0; h < spread_registers; ++h) {
            const floats scale = load_floats(scales + g * nibble_outputs + lanes * h);
            const floats zero = load_floats(zeros + g * nibble_outputs + lanes * h);
            for (int r = 0; r < rows; ++r) {
                floats sum = parts[0][r][h];
                for (int set = 1; set < sets; ++set) sum += parts[set][r][h];
                totals[r][h] += (sum - all(sums[r][g]) * zero) * scale;
            }
        }
    }
    for (int r = 0; r < rows; ++r)
        for (int h = 0; h < spread_registers; ++h) store_floats(out[r] + lanes * h, totals[r][h]);
}

// The same of up to four rows; two at once are what sixteen registers hold.
static void nibble_products(const float* const* x, const float* const* sums, std::int64_t rows, const std::uint8_t* bytes,
                            const float* scales, const float* zeros, std::int64_t inputs, std::int64_t group,
                            float* const* out) {
#ifdef WORKBENCH_AVX512
    if (rows == 4) return nibble_rows<4>(x, sums, bytes, scales, zeros, inputs, group, out);
    if (rows == 3) return nibble_rows<3>(x, sums, bytes, scales, zeros, inputs, group, out);
#endif
    for (; rows >= 2; rows -= 2, x += 2, sums += 2, out += 2)
        nibble_rows<2>(x, sums, bytes, scales, zeros, inputs, group, out);
    if (rows) nibble_rows<1>(x, sums, bytes, scales, zeros, inputs, group, out);
}

// The sum of some floats.
static float sum_of(const float* x, std::int64_t count) {
    floats sums = all(0.f);
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) sums += load_floats(x + i);
    if (i < count) sums += load_some(x + i, count - i);
    float sum = 0.f;
    for (int lane = 0; lane < lanes; ++lane) sum += sums[lane];
    return sum;
}
