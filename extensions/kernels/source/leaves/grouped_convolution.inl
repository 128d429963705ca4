// Convolutions of groups of 1, 2, 4 or 8 channels, over planes of as many channels as a register holds. Included once per
// instruction set; see dispatch.hpp.
#include "convolution_planes.inl"

static std::int64_t group_lanes() { return lanes; }

// In each lane the i-th channel of the lane's group of `wide` channels.
template <int wide, int i>
static WORKBENCH_INLINE floats within_groups(floats x) {
#define WORKBENCH_FROM(lane) (lane) / wide * wide + i
    if constexpr (wide == 1) return x;
#ifdef WORKBENCH_AVX512
    return __builtin_shufflevector(x, x, WORKBENCH_FROM(0), WORKBENCH_FROM(1), WORKBENCH_FROM(2), WORKBENCH_FROM(3), WORKBENCH_FROM(4),
                                   WORKBENCH_FROM(5), WORKBENCH_FROM(6), WORKBENCH_FROM(7), WORKBENCH_FROM(8), WORKBENCH_FROM(9),
                                   WORKBENCH_FROM(10), WORKBENCH_FROM(11), WORKBENCH_FROM(12), WORKBENCH_FROM(13), WORKBENCH_FROM(14),
                                   WORKBENCH_FROM(15));
#else
    return __builtin_shufflevector(x, x, WORKBENCH_FROM(0), WORKBENCH_FROM(1), WORKBENCH_FROM(2), WORKBENCH_FROM(3), WORKBENCH_FROM(4),
                                   WORKBENCH_FROM(5), WORKBENCH_FROM(6), WORKBENCH_FROM(7));
#endif
#undef WORKBENCH_FROM
}

// sums[j] += weight[i] times the i-th channels at the j-th place, for all i from the given one on.
template <int wide, int places, int i = 0>
static WORKBENCH_INLINE void add_channels(floats* sums, const float* at, std::int64_t step, const float* weight) {
    const floats w = load_floats(weight + i * lanes);
    for (int j = 0; j < places; ++j) {
        const float* from = at + j * step;
        // A register that holds one group is not turned: memory gives a value to all lanes.
        if constexpr (wide == lanes)
            sums[j] += all(from[i]) * w;
        else
            sums[j] += within_groups<wide, i>(load_floats(from)) * w;
    }
    if constexpr (i + 1 < wide) add_channels<wide, places, i + 1>(sums, at, step, weight);
}

// Outputs of a plane, each the sum over taps; `beside`: the windows of neighbours are a column apart.
template <int wide, bool beside>
static WORKBENCH_INLINE void window_sums_of(const Windows& w) {
    constexpr int places = wide == 1 || lanes == 16 ? 8 : 4;
    const std::int64_t step = beside ? lanes : w.step * lanes;
    const floats start = w.bias ? load_up_to(w.bias, w.channels) : all(0.f);
    for (std::int64_t row = 0; row < w.rows; ++row)
        for (std::int64_t place = 0; place < w.count; place += places) {
            // The last ones of a row are reached by a step back: some outputs are then made twice.
            const std::int64_t first = place + places > w.count && w.count >= places ? w.count - places : place;
            const float* from = w.plane + row * w.plane_step + first * step;
            const float* weight = w.weight;
            floats sums[places];
            for (int j = 0; j < places; ++j) sums[j] = start;
            for (std::int64_t t = 0; t < w.tap_count; ++t) {
                add_channels<wide, places>(sums, from + w.taps[t].offset, step, weight + w.taps[t].number * (wide * lanes));
            }
            float* out = w.out + row * w.out_row_step + first * w.out_step;
            for (int j = 0; j < places; ++j) {
                if (first + j >= w.count) break;
                if (w.channels >= lanes)
                    store_floats(out + j * w.out_step, sums[j]);
                else
                    store_some(out + j * w.out_step, sums[j], w.channels);
            }
        }
}

static void window_sums(std::int64_t wide, const Windows& w) {
#define WORKBENCH_WINDOWS(wide) \
    case wide: return w.step == 1 ? window_sums_of<wide, true>(w) : window_sums_of<wide, false>(w)
    switch (wide) {
        WORKBENCH_WINDOWS(1);
        WORKBENCH_WINDOWS(2);
        WORKBENCH_WINDOWS(4);
        WORKBENCH_WINDOWS(8);
    }
#undef WORKBENCH_WINDOWS
}

template <int wide, int i = 0>
static WORKBENCH_INLINE void add_products(floats* sums, const float* x, floats g) {
    sums[i] += (wide == lanes ? all(x[i]) : within_groups<wide, i>(load_floats(x))) * g;
    if constexpr (i + 1 < wide) add_products<wide, i + 1>(sums, x, g);
}

// Adds what a plane of gradients gives to `many` taps from the given one on. A sum in floats has some 64 terms, and those sums
// are added in floats again.
template <int wide, int many>
static WORKBENCH_INLINE void tap_sums_of(const TapSums& w, std::int64_t tap) {
    constexpr std::int64_t most = 64;
    float* to = w.sums + tap * (wide * lanes);
    floats sums[many * wide];
    for (int k = 0; k < many * wide; ++k) sums[k] = all(0.f);
    const auto empty = [&] {
        for (int k = 0; k < many * wide; ++k) store_floats(to + k * lanes, load_floats(to + k * lanes) + sums[k]), sums[k] = all(0.f);
    };
    std::int64_t offsets[many], terms = 0;
    for (int k = 0; k < many; ++k) offsets[k] = w.taps[tap + k].offset;
    for (std::int64_t row = 0; row < w.rows; ++row) {
        const float *g = w.gradient + row * w.gradient_step, *x = w.plane + row * w.plane_step;
        for (std::int64_t place = 0; place < w.count;) {
            const std::int64_t end = w.count - place > most ? place + most : w.count;
            terms += end - place;
            for (; place < end; ++place, g += lanes, x += w.step * lanes) {
                const floats slope = load_floats(g);
                for (int k = 0; k < many; ++k) add_products<wide>(sums + k * wide, x + offsets[k], slope);
            }
            if (terms >= most) empty(), terms = 0;
        }
    }
    empty();
}

template <int wide, int most>
static WORKBENCH_INLINE void some_tap_sums(const TapSums& w, std::int64_t tap) {
    if constexpr (most > 1)
        if (w.tap_count - tap < most) return some_tap_sums<wide, most - 1>(w, tap);
    tap_sums_of<wide, most>(w, tap);
}

template <int wide>
static WORKBENCH_INLINE void all_tap_sums(const TapSums& w) {
    constexpr int most = wide == 1 ? 9 : wide < 8 ? 3 : 1;  // as many sums as there are registers for
    for (std::int64_t tap = 0; tap < w.tap_count; tap += most) some_tap_sums<wide, most>(w, tap);
}

static void tap_sums(std::int64_t wide, const TapSums& w) {
    switch (wide) {
        case 1: return all_tap_sums<1>(w);
        case 2: return all_tap_sums<2>(w);
        case 4: return all_tap_sums<4>(w);
        case 8: return all_tap_sums<8>(w);
    }
}
