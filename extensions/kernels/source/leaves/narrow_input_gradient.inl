// The gradient of a row of an input of few channels. Included once per instruction set; see dispatch.hpp.

static std::int64_t narrow_lanes() { return lanes; }

// Adds one register of channels of the output, by one tap, at each place; `some` is how many of them there are in the last one.
template <int channels, int places, bool inside>
static WORKBENCH_INLINE void narrow_products(const NarrowRow& n, const float* gradient, const float* weight, std::int64_t at, std::int64_t some,
                                             floats (&sums)[places][channels]) {
    floats weights[channels];
#pragma GCC unroll 8
    for (int c = 0; c < channels; ++c) weights[c] = load_floats(weight + c * n.width);
#pragma GCC unroll 8
    for (int p = 0; p < places; ++p) {
        if (!inside && (at + p < 0 || at + p >= n.out_width)) continue;
        const floats values = some == lanes ? load_floats(gradient + p * n.outputs) : load_some(gradient + p * n.outputs, some);
#pragma GCC unroll 8
        for (int c = 0; c < channels; ++c) sums[p][c] += values * weights[c];
    }
}

// Places of the input a stride apart, which meet the same taps.
template <int channels, int places, bool inside>
static WORKBENCH_INLINE void narrow_places(const NarrowRow& n, std::int64_t column, float* out) {
    floats sums[places][channels];
#pragma GCC unroll 8
    for (int p = 0; p < places; ++p)
#pragma GCC unroll 8
        for (int c = 0; c < channels; ++c) sums[p][c] = all(0.f);
    const std::int64_t whole = n.outputs / lanes * lanes;
    for (std::int64_t y = 0; y < n.rows; ++y)
        for (std::int64_t tap = 0; tap < n.taps; ++tap) {
            const std::int64_t back = column + n.padding - tap * n.dilation;
            if (back % n.stride != 0) continue;
            const std::int64_t at = back / n.stride;
            const float* weight = n.weight + (n.kernel_rows[y] * n.taps + tap) * channels * n.width;
            const float* gradient = n.gradient_rows[y] + at * n.outputs;
            std::int64_t k = 0;
            for (; k < whole; k += lanes) narrow_products<channels, places, inside>(n, gradient + k, weight + k, at, lanes, sums);
            if (k < n.outputs) narrow_products<channels, places, inside>(n, gradient + k, weight + k, at, n.outputs - k, sums);
        }
#pragma GCC unroll 8
    for (int p = 0; p < places; ++p)
#pragma GCC unroll 8
        for (int c = 0; c < channels; ++c) out[p * n.stride * channels + c] = lanes_sum(sums[p][c]);
}

template <int channels, int places>
static void narrow_row_of(const NarrowRow& n, float* out) {
    const std::int64_t reach = (n.taps - 1) * n.dilation;
    for (std::int64_t start = 0; start < n.stride && start < n.in_width; ++start) {
        std::int64_t column = start;
        for (; column + (places - 1) * n.stride < n.in_width; column += places * n.stride) {
            // The least and the largest place that any tap meets.
            const bool inside = column + n.padding - reach >= 0 &&
                                (column + n.padding) / n.stride + places - 1 < n.out_width;
            if (inside)
                narrow_places<channels, places, true>(n, column, out + column * channels);
            else
                narrow_places<channels, places, false>(n, column, out + column * channels);
        }
        for (; column < n.in_width; column += n.stride) narrow_places<channels, 1, false>(n, column, out + column * channels);
    }
}

// As many sums at once as the latency of a product asks for and the registers hold.
static void narrow_row(const NarrowRow& n, std::int64_t channels, float* out) {
    if (channels == 1) narrow_row_of<1, 8>(n, out);
    if (channels == 2) narrow_row_of<2, 5>(n, out);
    if (channels == 3) narrow_row_of<3, 4>(n, out);
    if (channels == 4) narrow_row_of<4, 2>(n, out);
}
