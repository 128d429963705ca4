// Batch normalisation: loops over rows of channels, floats or bfloat16 (`T`) computed in floats. Included once per
// instruction set; see dispatch.hpp.

// `many` vectors side by side, or what is left of one.
template <int many>
struct Whole {
    static constexpr int vectors = many;
    template <typename T>
    WORKBENCH_INLINE floats get(const T* p, int v) const {
        return load_floats(p + v * lanes);
    }
    template <typename T>
    WORKBENCH_INLINE void put(T* p, int v, floats value) const {
        store_floats(p + v * lanes, value);
    }
};
struct Rest {
    static constexpr int vectors = 1;
    std::int64_t count;
    template <typename T>
    WORKBENCH_INLINE floats get(const T* p, int) const {
        return load_some(p, count);
    }
    template <typename T>
    WORKBENCH_INLINE void put(T* p, int, floats value) const {
        store_some(p, value, count);
    }
};

// Calls body(c, part) for channels from c on: four vectors at a time, so that as many sums run at once.
template <typename Body>
static WORKBENCH_INLINE void by_channels(std::int64_t channels, Body&& body) {
    std::int64_t c = 0;
    for (; c + 4 * lanes <= channels; c += 4 * lanes) body(c, Whole<4>{});
    for (; c + lanes <= channels; c += lanes) body(c, Whole<1>{});
    if (c < channels) body(c, Rest{channels - c});
}

// Mean and sum of squared deviations of `rows` rows, channel by channel: two passes over a block that stays in the
// first-level cache, which is as accurate as two passes over everything and reads memory once. Sums are taken of
// distances from the first row, so that a large common offset costs no digits.
template <typename T>
static void block_moments(const T* x, std::int64_t rows, std::int64_t channels, float* mean, float* deviation) {
    const float weight = 1.f / static_cast<float>(rows);
    by_channels(channels, [&](std::int64_t c, auto part) {
        constexpr int many = decltype(part)::vectors;
        floats first[many], sum[many];
        for (int v = 0; v < many; ++v) first[v] = part.get(x + c, v), sum[v] = all(0.f);
        for (std::int64_t row = 0; row < rows; ++row)
            for (int v = 0; v < many; ++v) sum[v] += part.get(x + row * channels + c, v) - first[v];
        for (int v = 0; v < many; ++v) first[v] = sum[v] * weight + first[v], sum[v] = all(0.f);
        for (std::int64_t row = 0; row < rows; ++row)
            for (int v = 0; v < many; ++v) {
                const floats distance = part.get(x + row * channels + c, v) - first[v];
                sum[v] += distance * distance;
            }
        for (int v = 0; v < many; ++v) part.put(mean + c, v, first[v]), part.put(deviation + c, v, sum[v]);
    });
}

// y = (x - centre) * scale + shift, and optionally max(y, 0) with NaN kept.
template <typename T>
static void scale_shift_rows(const T* x, std::int64_t rows, std::int64_t channels, const float* centre,
                             const float* scale, const float* shift, bool relu, T* y) {
    for (std::int64_t row = 0; row < rows; ++row)
        by_channels(channels, [&](std::int64_t c, auto part) {
            for (int v = 0; v < part.vectors; ++v) {
                const floats value = (part.get(x + row * channels + c, v) - part.get(centre + c, v)) * part.get(scale + c, v) +
                                     part.get(shift + c, v);
                part.put(y + row * channels + c, v, relu ? (value < 0.f ? all(0.f) : value) : value);
            }
        });
}

// Adds sum(g) and sum(g * (x - mean)) of the rows to the two sums.
template <typename T>
static void gradient_sums(const T* g, const T* x, std::int64_t rows, std::int64_t channels, const float* mean, float* sums,
                          float* products) {
    by_channels(channels, [&](std::int64_t c, auto part) {
        constexpr int many = decltype(part)::vectors;
        floats centre[many], sum[many], product[many];
        for (int v = 0; v < many; ++v)
            centre[v] = part.get(mean + c, v), sum[v] = part.get(sums + c, v), product[v] = part.get(products + c, v);
        for (std::int64_t row = 0; row < rows; ++row)
            for (int v = 0; v < many; ++v) {
                const floats value = part.get(g + row * channels + c, v);
                sum[v] += value;
                product[v] += value * (part.get(x + row * channels + c, v) - centre[v]);
            }
        for (int v = 0; v < many; ++v) part.put(sums + c, v, sum[v]), part.put(products + c, v, product[v]);
    });
}

// gx = a * g + b * (x - mean) + d, channel by channel.
template <typename T>
static void combine_rows(const T* g, const T* x, std::int64_t rows, std::int64_t channels, const float* mean, const float* a,
                         const float* b, const float* d, T* gx) {
    for (std::int64_t row = 0; row < rows; ++row)
        by_channels(channels, [&](std::int64_t c, auto part) {
            for (int v = 0; v < part.vectors; ++v) {
                const std::int64_t i = row * channels + c;
                const floats value = part.get(a + c, v) * part.get(g + i, v) +
                                     part.get(b + c, v) * (part.get(x + i, v) - part.get(mean + c, v)) + part.get(d + c, v);
                part.put(gx + i, v, value);
            }
        });
}
