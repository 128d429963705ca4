// Products of floats with weights of four bits, which are spread to floats in registers. Included once per instruction set;
// see dispatch.hpp.

// Outputs are taken by two registers.
constexpr int spread_registers = 2;
constexpr int spread_outputs = spread_registers * lanes;

#if defined(WORKBENCH_AVX512)
constexpr int spread_inputs = 1;

// The codes of an input's weights, looked up by four bits.
template <typename Take>
static WORKBENCH_INLINE void spread_codes(const std::uint8_t* bytes, Take&& take) {
    const __m512 table = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i wide = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
    const floats codes[2] = {(floats)_mm512_permutexvar_ps(wide, table), (floats)_mm512_permutexvar_ps(_mm512_srli_epi32(wide, 4), table)};
    take(0, codes);
}
#else
constexpr int spread_inputs = nibbles_of_a_word;

// The codes of eight inputs' weights, one after another; those of every second one times 16.
template <typename Take>
static WORKBENCH_INLINE void spread_codes(const std::uint8_t* bytes, Take&& take) {
    ints words[spread_registers];
    for (int h = 0; h < spread_registers; ++h) words[h] = load(reinterpret_cast<const std::int32_t*>(bytes) + lanes * h);
#pragma GCC unroll 8
    for (int j = 0; j < spread_inputs; ++j) {
        floats codes[spread_registers];
        for (int h = 0; h < spread_registers; ++h) {
            // Two masks stay in registers, where eight would push the sums out.
            if (j > 0 && j % 2 == 0) words[h] >>= 8;
            codes[h] = __builtin_convertvector(words[h] & (j % 2 ? 240 : 15), floats);
        }
        take(j, codes);
    }
}
#endif

// Keeps a sum in its register here: GCC 12 computes codes far ahead, for which it puts sums into memory.
static WORKBENCH_INLINE void stay([[maybe_unused]] floats& sum) {
#if defined(WORKBENCH_AVX2) && !defined(WORKBENCH_AVX512)
    asm volatile("" : "+x"(sum));
#endif
}

// Some outputs of a panel of some rows: sums of each group of inputs, times its scale, less its zero points. `sums` holds the
// sums of each row's inputs by group. Where words are read, inputs are divided as they ask, and groups are whole words.
template <int rows>
static WORKBENCH_INLINE void nibble_rows(const float* const* x, const float* const* sums, const std::uint8_t* bytes,
                                         const float* scales, const float* zeros, std::int64_t inputs, std::int64_t group,
                                         float* const* out, std::int64_t first) {
    // Two sets of sums: one product waits for the one before it otherwise.
    constexpr int sets = 2;
    constexpr int step = spread_inputs == 1 ? sets : spread_inputs;
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
        const auto take = [&](std::int64_t at, int set) __attribute__((always_inline)) {
            spread_codes(bytes + at * spread_outputs / 2, [&](int j, const floats (&codes)[spread_registers]) __attribute__((always_inline)) {
                for (int r = 0; r < rows; ++r) {
                    const floats value = all(x[r][at + j]);
                    for (int h = 0; h < spread_registers; ++h) {
                        parts[(set + j) % sets][r][h] += value * codes[h];
                        stay(parts[(set + j) % sets][r][h]);
                    }
                }
            });
        };
        for (; k + step <= end; k += step)
            for (int i = 0; i < step; i += spread_inputs) take(k + i, i);
        for (; k < end; ++k) take(k, 0);
        for (int h = 0; h < spread_registers; ++h) {
            const floats scale = load_floats(scales + g * nibble_outputs + first + lanes * h);
            const floats zero = load_floats(zeros + g * nibble_outputs + first + lanes * h);
            for (int r = 0; r < rows; ++r) {
                floats sum = parts[0][r][h];
                for (int set = 1; set < sets; ++set) sum += parts[set][r][h];
                totals[r][h] += (sum - all(sums[r][g]) * zero) * scale;
            }
        }
    }
    for (int r = 0; r < rows; ++r)
        for (int h = 0; h < spread_registers; ++h) store_floats(out[r] + first + lanes * h, totals[r][h]);
}

// A panel of up to four rows; two at once are what sixteen registers hold.
static void nibble_products(const float* const* x, const float* const* sums, std::int64_t rows, const std::uint8_t* bytes,
                            const float* scales, const float* zeros, std::int64_t inputs, std::int64_t group,
                            float* const* out) {
    for (int first = 0; first < nibble_outputs; first += spread_outputs, bytes += inputs * spread_outputs / 2) {
        std::int64_t row = 0;
#ifdef WORKBENCH_AVX512
        if (rows == 4) nibble_rows<4>(x, sums, bytes, scales, zeros, inputs, group, out, first), row = 4;
        if (rows == 3) nibble_rows<3>(x, sums, bytes, scales, zeros, inputs, group, out, first), row = 3;
#endif
        for (; row + 2 <= rows; row += 2)
            nibble_rows<2>(x + row, sums + row, bytes, scales, zeros, inputs, group, out + row, first);
        if (row < rows) nibble_rows<1>(x + row, sums + row, bytes, scales, zeros, inputs, group, out + row, first);
    }
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
