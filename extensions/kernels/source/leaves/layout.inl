// Copies between memory orders. Included once per instruction set; see dispatch.hpp.

// Eight rows of eight floats to eight columns.
static WORKBENCH_INLINE void transpose_eight(const float* from, std::int64_t from_step, float* to, std::int64_t to_step) {
#ifdef WORKBENCH_AVX2
    __m256 a[8], b[8];
    for (int i = 0; i < 8; ++i) a[i] = _mm256_loadu_ps(from + i * from_step);
    for (int i = 0; i < 8; i += 2) b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]), b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
    for (int i = 0; i < 8; i += 4)
        for (int j = 0; j < 2; ++j) {
            a[i + 2 * j] = _mm256_shuffle_ps(b[i + j], b[i + j + 2], 0x44);
            a[i + 2 * j + 1] = _mm256_shuffle_ps(b[i + j], b[i + j + 2], 0xee);
        }
    for (int i = 0; i < 4; ++i) {
        _mm256_storeu_ps(to + i * to_step, _mm256_permute2f128_ps(a[i], a[i + 4], 0x20));
        _mm256_storeu_ps(to + (i + 4) * to_step, _mm256_permute2f128_ps(a[i], a[i + 4], 0x31));
    }
#else
    for (int r = 0; r < 8; ++r)
        for (int c = 0; c < 8; ++c) to[c * to_step + r] = from[r * from_step + c];
#endif
}

// to[c, r] = from[r, c]: by sixteen rows and columns, so that lines of the cache are read and written whole.
static void transpose(const float* from, std::int64_t from_step, std::int64_t rows, std::int64_t columns, float* to,
                      std::int64_t to_step) {
    constexpr std::int64_t tile = 16;
    const auto some = [&](std::int64_t first, std::int64_t last, std::int64_t left, std::int64_t right) {
        for (std::int64_t c = left; c < right; ++c)
            for (std::int64_t r = first; r < last; ++r) to[c * to_step + r] = from[r * from_step + c];
    };
    const std::int64_t whole_rows = rows / 8 * 8, whole_columns = columns / 8 * 8;
    for (std::int64_t left = 0; left < whole_columns; left += tile) {
        const std::int64_t right = left + tile < whole_columns ? left + tile : whole_columns;
        for (std::int64_t first = 0; first < whole_rows; first += tile) {
            const std::int64_t last = first + tile < whole_rows ? first + tile : whole_rows;
            for (std::int64_t c = left; c < right; c += 8)
                for (std::int64_t r = first; r < last; r += 8)
                    transpose_eight(from + r * from_step + c, from_step, to + c * to_step + r, to_step);
        }
        some(whole_rows, rows, left, right);
    }
    some(0, rows, whole_columns, columns);
}
