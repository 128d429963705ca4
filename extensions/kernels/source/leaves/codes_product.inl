// Rows of codes by a packed matrix of codes, sixteen columns at a time. Included once per instruction set; see dispatch.hpp.
// Compiled without contraction, as NumPy computes.

#if defined(WORKBENCH_AVX2) && !defined(WORKBENCH_VNNI)
// Sums of one row, or of two, by sixteen columns. Products are of 16 bits and added in 32: pairs of bytes would run over.
template <int rows>
static WORKBENCH_INLINE void wide_sums(const std::uint8_t* a, std::int64_t steps, const std::int8_t* packed, ints16* found) {
    __m256i own[rows][4];
    for (int r = 0; r < rows; ++r)
        for (int q = 0; q < 4; ++q) own[r][q] = _mm256_setzero_si256();
    for (std::int64_t step = 0; step < steps; ++step) {
        __m256i bytes[rows];
        for (int r = 0; r < rows; ++r) {
            std::int32_t four;
            __builtin_memcpy(&four, a + r * 4 * steps + 4 * step, 4);
            bytes[r] = _mm256_broadcastq_epi64(_mm_cvtepu8_epi16(_mm_cvtsi32_si128(four)));
        }
        for (int q = 0; q < 4; ++q) {
            const __m128i four = _mm_loadu_si128(reinterpret_cast<const __m128i*>(packed + 64 * step + 16 * q));
            const __m256i weights = _mm256_cvtepi8_epi16(four);
            for (int r = 0; r < rows; ++r)
                own[r][q] = _mm256_add_epi32(own[r][q], _mm256_madd_epi16(weights, bytes[r]));
        }
    }
    // Each column has two halves side by side; adding neighbours leaves the columns of two registers in turns.
    for (int r = 0; r < rows; ++r)
        for (int half = 0; half < 2; ++half) {
            const __m256i sums = _mm256_hadd_epi32(own[r][2 * half], own[r][2 * half + 1]);
            const __m256i turned = _mm256_permute4x64_epi64(sums, 0xd8);
            __builtin_memcpy(reinterpret_cast<char*>(found + r) + 32 * half, &turned, 32);
        }
}
#endif

// `packed`: for each four inner places, those of sixteen columns; signed, 128 less than the codes.
template <int rows>
static WORKBENCH_INLINE void product_tile(const std::uint8_t* a, std::int64_t steps, const std::int8_t* packed, const std::int32_t* sums,
                                          const std::uint32_t* rest, const CodesTile& to, std::uint8_t* out) {
#ifdef WORKBENCH_VNNI
    __m512i found[rows];
    for (int r = 0; r < rows; ++r) found[r] = _mm512_setzero_si512();
    for (std::int64_t step = 0; step < steps; ++step) {
        const __m512i weights = _mm512_loadu_si512(packed + 64 * step);
        for (int r = 0; r < rows; ++r) {
            std::int32_t four;
            __builtin_memcpy(&four, a + r * 4 * steps + 4 * step, 4);
            const __m512i bytes = _mm512_set1_epi32(four);
            asm("vpdpbusd %2, %1, %0" : "+v"(found[r]) : "v"(bytes), "v"(weights));
        }
    }
#elif defined(WORKBENCH_AVX2)
    ints16 found[rows];
    int r = 0;
    for (; r + 2 <= rows; r += 2) wide_sums<2>(a + r * 4 * steps, steps, packed, found + r);
    for (; r < rows; ++r) wide_sums<1>(a + r * 4 * steps, steps, packed, found + r);
#else
    ints16 found[rows];
    for (int r = 0; r < rows; ++r) {
        std::int32_t own[16] = {};
        for (std::int64_t step = 0; step < steps; ++step)
            for (int c = 0; c < 16; ++c)
                for (int k = 0; k < 4; ++k)
                    own[c] += static_cast<std::int32_t>(a[r * 4 * steps + 4 * step + k]) * packed[64 * step + 4 * c + k];
        __builtin_memcpy(&found[r], own, 64);
    }
#endif
    for (int r = 0; r < rows; ++r) {
        std::uint32_t whole[16];
        __builtin_memcpy(whole, &found[r], 64);
        std::uint8_t made[16];
        for (int c = 0; c < 16; ++c) {
            // What zero points take away; what wraps around on the way comes back.
            const std::uint32_t sum = whole[c] - static_cast<std::uint32_t>(sums[c]) - rest[r];
            const float code = __builtin_rintf(static_cast<float>(static_cast<std::int32_t>(sum)) * to.out.inverse) + to.out.zero;
            const float most = code < to.out.high ? code : to.out.high;
            made[c] = static_cast<std::uint8_t>(static_cast<std::int32_t>(most > to.out.low ? most : to.out.low));
        }
        __builtin_memcpy(out + r * to.step, made, static_cast<std::size_t>(to.columns));
    }
}

// Some rows by all blocks of columns.
static void product_rows(const std::uint8_t* a, std::int64_t rows, std::int64_t steps, const std::int8_t* packed, const std::int32_t* sums,
                         const std::uint32_t* rest, std::int64_t columns, const RowsOut& told, std::uint8_t* out) {
    for (std::int64_t first = 0; first < columns; first += 16) {
        const CodesTile to{told, columns, columns - first < 16 ? columns - first : 16};
        const std::int8_t* block = packed + first / 16 * steps * 64;
        std::int64_t r = 0;
        for (; r + 8 <= rows; r += 8) product_tile<8>(a + r * 4 * steps, steps, block, sums + first, rest + r, to, out + r * columns + first);
        for (; r + 4 <= rows; r += 4) product_tile<4>(a + r * 4 * steps, steps, block, sums + first, rest + r, to, out + r * columns + first);
        for (; r < rows; ++r) product_tile<1>(a + r * 4 * steps, steps, block, sums + first, rest + r, to, out + r * columns + first);
    }
}

static std::uint32_t sum_of_codes_run(const std::uint8_t* codes, std::int64_t count) {
    std::uint32_t sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += codes[i];
    return sum;
}
