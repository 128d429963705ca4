// What follows a matrix product. Included once per instruction set; see dispatch.hpp.

// Adds `bias` to each row, and optionally rectifies.
static void finish_rows(float* rows, std::int64_t count, std::int64_t columns, const float* bias, bool relu) {
    for (std::int64_t row = 0; row < count; ++row) {
        float* out = rows + row * columns;
        if (bias)
            for (std::int64_t c = 0; c < columns; ++c) out[c] += bias[c];
        if (relu)
            for (std::int64_t c = 0; c < columns; ++c) out[c] = out[c] < 0.f ? 0.f : out[c];
    }
}
