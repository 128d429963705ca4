// Batch normalisation: loops over rows of channels. Included once per instruction set; see dispatch.hpp.

// Mean and sum of squared deviations of `rows` rows, channel by channel: two passes over a block that stays in the
// first-level cache, which is as accurate as two passes over everything and reads memory once. Sums are taken of
// distances from the first row, so that a large common offset costs no digits.
static void block_moments(const float* x, std::int64_t rows, std::int64_t channels, float* mean,
                                    float* deviation) {
    for (std::int64_t c = 0; c < channels; ++c) mean[c] = deviation[c] = 0.f;
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t c = 0; c < channels; ++c) mean[c] += x[row * channels + c] - x[c];
    const float weight = 1.f / static_cast<float>(rows);
    for (std::int64_t c = 0; c < channels; ++c) mean[c] = mean[c] * weight + x[c];
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t c = 0; c < channels; ++c) {
            const float distance = x[row * channels + c] - mean[c];
            deviation[c] += distance * distance;
        }
}

// y = (x - centre) * scale + shift, and optionally max(y, 0) with NaN kept.
static void scale_shift_rows(const float* x, std::int64_t rows, std::int64_t channels, const float* centre,
                             const float* scale, const float* shift, bool relu, float* y) {
    if (relu) {
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t c = 0; c < channels; ++c) {
                const float value = (x[row * channels + c] - centre[c]) * scale[c] + shift[c];
                y[row * channels + c] = value < 0.f ? 0.f : value;
            }
        return;
    }
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t c = 0; c < channels; ++c)
            y[row * channels + c] = (x[row * channels + c] - centre[c]) * scale[c] + shift[c];
}

// Adds sum(g) and sum(g * (x - mean)) of the rows to the two sums.
static void gradient_sums(const float* g, const float* x, std::int64_t rows, std::int64_t channels,
                                    const float* mean, float* sums, float* products) {
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t c = 0; c < channels; ++c) {
            const float value = g[row * channels + c];
            sums[c] += value;
            products[c] += value * (x[row * channels + c] - mean[c]);
        }
}

// gx = a * g + b * (x - mean) + d, channel by channel.
static void combine_rows(const float* g, const float* x, std::int64_t rows, std::int64_t channels,
                                   const float* mean, const float* a, const float* b, const float* d, float* gx) {
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t c = 0; c < channels; ++c) {
            const std::int64_t i = row * channels + c;
            gx[i] = a[c] * g[i] + b[c] * (x[i] - mean[c]) + d[c];
        }
}
