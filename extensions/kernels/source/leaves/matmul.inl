// What follows a matrix product. Included once per instruction set; see dispatch.hpp.

// Adds `bias` to each row, and optionally rectifies.
template <typename T>
static void finish_rows(T* rows, std::int64_t count, std::int64_t columns, const T* bias, bool relu) {
    for (std::int64_t row = 0; row < count; ++row) {
        T* out = rows + row * columns;
        if (bias)
            for (std::int64_t c = 0; c < columns; ++c) out[c] += bias[c];
        if (relu)
            for (std::int64_t c = 0; c < columns; ++c) out[c] = out[c] < T(0) ? T(0) : out[c];
    }
}
