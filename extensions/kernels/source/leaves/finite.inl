// How large values are. Included once per instruction set; see dispatch.hpp.

// Whether no value is NaN, or larger than the number with the bits `most`: without signs, numbers are in the order of their bits, and
// infinities and NaN come behind them. An or over the bits, which the compiler does many at a time.
static bool is_within(const float* values, std::int64_t count, std::int32_t most) {
    std::int32_t beyond = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        std::int32_t bits;
        __builtin_memcpy(&bits, values + i, sizeof bits);
        beyond |= (bits & 0x7fffffff) > most;
    }
    return beyond == 0;
}

// The largest sum of magnitudes of a row. Sixteen sums at a time, as none may be taken for another.
static float heaviest_row(const float* values, std::int64_t rows, std::int64_t columns) {
    float heaviest = 0;
    for (std::int64_t row = 0; row < rows; ++row, values += columns) {
        float sums[16] = {};
        std::int64_t i = 0;
        for (; i + 16 <= columns; i += 16)
            for (int j = 0; j < 16; ++j) sums[j] += __builtin_fabsf(values[i + j]);
        for (; i < columns; ++i) sums[0] += __builtin_fabsf(values[i]);
        float sum = 0;
        for (const float one : sums) sum += one;
        if (!(sum <= heaviest)) heaviest = sum;
    }
    return heaviest;
}
