// The largest or smallest along a dim, and where it stands first; a NaN is both. Included once per instruction set; see dispatch.hpp.

template <bool largest, typename T>
static WORKBENCH_INLINE bool goes_before(T value, T best) {
    return (largest ? value > best : value < best) || (value != value && best == best);
}

template <bool largest, typename T>
static void extremes_of_rows(const T* x, std::int64_t rows, std::int64_t count, T* values, std::int64_t* indices) {
    for (std::int64_t row = 0; row < rows; ++row, x += count) {
        T best = x[0];
        std::int64_t where = 0;
        for (std::int64_t i = 1; i < count; ++i)
            if (goes_before<largest>(x[i], best)) best = x[i], where = i;
        values[row] = best, indices[row] = where;
    }
}

// Of columns side by side, a row of which is `step` long.
template <bool largest, typename T>
static void extremes_of_columns(const T* x, std::int64_t count, std::int64_t step, std::int64_t columns, T* values, std::int64_t* indices) {
    for (std::int64_t c = 0; c < columns; ++c) values[c] = x[c], indices[c] = 0;
    for (std::int64_t i = 1; i < count; ++i) {
        const T* from = x + i * step;
        for (std::int64_t c = 0; c < columns; ++c) {
            const T value = from[c], best = values[c];
            const bool better = goes_before<largest>(value, best);
            values[c] = better ? value : best;
            indices[c] = better ? i : indices[c];
        }
    }
}
