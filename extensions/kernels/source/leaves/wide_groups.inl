// Convolutions of groups of channels that fill registers, over planes of all channels of a group. A number of an image is given
// to all lanes, which are outputs: so each output's sum stays in its lane from the first tap to the last. Included once per
// instruction set; see dispatch.hpp.
#include "convolution_planes.inl"

static std::int64_t wide_lanes() { return lanes; }

// to[t, i, o] = from[o, i, t]: outputs side by side, with zeros up to `width` of them.
static void pack_group(const float* from, std::int64_t outputs, std::int64_t inputs, std::int64_t taps, float* to, std::int64_t width,
                       float* room) {
    transpose(from, inputs * taps, outputs, inputs * taps, room, width);
    for (std::int64_t t = 0; t < taps; ++t)
        for (std::int64_t i = 0; i < inputs; ++i)
            for (std::int64_t o = 0; o < width; o += lanes)
                store_floats(to + (t * inputs + i) * width + o, load_up_to(room + (i * taps + t) * width + o, outputs - o));
}

// to[last tap - t, o, i] = from[o, i, t]: the same of what goes back, whose taps lie the other way about.
static void pack_group_back(const float* from, std::int64_t outputs, std::int64_t inputs, std::int64_t taps, float* to, std::int64_t width) {
    for (std::int64_t o = 0; o < outputs; ++o) {
        transpose(from + o * inputs * taps, taps, inputs, taps, to + ((taps - 1) * outputs + o) * width, -outputs * width);
        for (std::int64_t t = 0; inputs < width && t < taps; ++t)
            for (std::int64_t i = inputs; i < width; ++i) to[(t * outputs + o) * width + i] = 0.f;
    }
}

// Keeps a value in a register where it is used: there are fewer of them than values around the loops below, and the compiler
// would rather have the innermost ones wait in memory.
template <typename T>
static WORKBENCH_INLINE void hold(T& value) { asm volatile("" : "+r"(value)); }

template <int many, int down, int places>
static WORKBENCH_INLINE void start_sums(const GroupWindows& w, std::int64_t output, floats (&sums)[down * places][many]) {
    for (int r = 0; r < many; ++r) {
        const std::int64_t left = w.outputs - output - r * lanes;
        const floats start = w.bias ? load_up_to(w.bias + output + r * lanes, left) : all(0.f);
        for (int j = 0; j < down * places; ++j) sums[j][r] = start;
    }
}

template <int many, int down, int places>
static WORKBENCH_INLINE void store_sums(const GroupWindows& w, std::int64_t output, const floats (&sums)[down * places][many], float* out) {
    for (int d = 0; d < down; ++d)
        for (int p = 0; p < places; ++p)
            for (int r = 0; r < many; ++r) {
                float* to = out + d * w.out_row_step + p * w.out_step + r * lanes;
                const std::int64_t left = w.outputs - output - r * lanes;
                if (left >= lanes)
                    store_floats(to, sums[d * places + p][r]);
                else
                    store_some(to, sums[d * places + p][r], left);
            }
}

// Outputs of `many` registers at places a step apart, in each of `down` rows; from a register's first output on. Three addresses
// of each pointer are a step apart, which the processor computes as it reads.
template <int many, int down, int places>
static WORKBENCH_INLINE void group_sums_at(const GroupWindows& w, const float* plane, const float* weight, std::int64_t output, float* out) {
    constexpr int pointers = (places + 2) / 3;
    floats sums[down * places][many];
    start_sums<many, down, places>(w, output, sums);
    for (std::int64_t t = 0; t < w.run_count; ++t) {
        const float *at[down][pointers], *row = weight + w.runs[t].number * w.inputs * w.width;
        for (int d = 0; d < down; ++d)
            for (int k = 0; k < pointers; ++k) {
                at[d][k] = plane + w.runs[t].offset + d * w.plane_step + 3 * k * w.step;
                hold(at[d][k]);
            }
        const float* const end = row + w.runs[t].count * w.inputs * w.width;
        std::int64_t width = w.width, step = w.step;
        while (row != end) {
            floats products[many];
            for (int r = 0; r < many; ++r) products[r] = load_floats(row + r * lanes);
            for (int d = 0; d < down; ++d)
                for (int p = 0; p < places; ++p) {
                    const floats x = all(at[d][p / 3][p % 3 * step]);
                    for (int r = 0; r < many; ++r) sums[d * places + p][r] += x * products[r];
                }
            hold(width), hold(step);
            row += width;
            for (int d = 0; d < down; ++d)
                for (int k = 0; k < pointers; ++k) ++at[d][k];
        }
    }
    store_sums<many, down, places>(w, output, sums, out);
}

// The same for taps that are as far apart as places, and a register of inputs: a number that is read is given to the sums of all the
// places that meet it in a run, so there is less to read than to multiply.
template <int down, int places, int taps, int depth>
static WORKBENCH_INLINE void group_sums_across(const GroupWindows& w, const float* plane, const float* weight, std::int64_t output, float* out) {
    floats sums[down * places][1];
    start_sums<1, down, places>(w, output, sums);
    const std::int64_t tap_size = w.inputs * w.width;
    for (std::int64_t t = 0; t < w.run_count; ++t) {
        const float *row = weight + w.runs[t].number * tap_size, *const end = row + tap_size, *at = plane + w.runs[t].offset;
        for (; row != end; row += w.width, ++at) {
            floats products[taps];
            for (int j = 0; j < taps; ++j) products[j] = load_floats(row + j * tap_size);
            for (int d = 0; d < down; ++d)
#pragma GCC unroll 32
                for (int c = 0; c < places + taps - 1; ++c) {
                    const floats x = all(at[d * w.plane_step + c * depth]);
                    for (int j = 0; j < taps; ++j)
                        if (0 <= c - j && c - j < places) sums[d * places + c - j][0] += x * products[j];
                }
        }
    }
    store_sums<1, down, places>(w, output, sums, out);
}

// All places of `down` rows, of which each has no less than `places`: the last ones are reached by a step back, and some made twice.
template <int many, int down, int places, int taps, int depth>
static WORKBENCH_INLINE void group_rows(const GroupWindows& w, std::int64_t output, std::int64_t row) {
    for (std::int64_t place = 0; place < w.count; place += places) {
        const std::int64_t first = place + places > w.count ? w.count - places : place;
        const float *plane = w.plane + row * w.plane_step + first * w.step, *weight = w.weight + output;
        float* out = w.out + row * w.out_row_step + first * w.out_step + output;
        if constexpr (taps > 1)
            group_sums_across<down, places, taps, depth>(w, plane, weight, output, out);
        else
            group_sums_at<many, down, places>(w, plane, weight, output, out);
    }
}

// Rows by twos or fours where the places of one are too few sums to keep the processor busy.
template <int many, int places, int taps, int depth>
static WORKBENCH_INLINE void group_sums_down(const GroupWindows& w, std::int64_t output) {
    constexpr int down = many * places >= 8 ? 1 : many * places >= 4 ? 2 : 4;
    std::int64_t row = 0;
    for (; row + down <= w.rows; row += down) group_rows<many, down, places, taps, depth>(w, output, row);
    if constexpr (down > 1)
        for (; row < w.rows; ++row) group_rows<many, 1, places, taps, depth>(w, output, row);
}

template <int many, int places>
static WORKBENCH_INLINE void group_sums_by(const GroupWindows& w, std::int64_t output) {
    if constexpr (many == 1 && places > 4) {
        if (w.step == lanes && w.taps_of_runs == 3) return group_sums_down<1, places, 3, lanes>(w, output);
#ifdef WORKBENCH_AVX512
        if (w.step == lanes && w.taps_of_runs == 5) return group_sums_down<1, places, 5, lanes>(w, output);
        if (w.step == 2 * lanes && w.taps_of_runs == 3) return group_sums_down<1, places, 3, 2 * lanes>(w, output);
#endif
    }
    group_sums_down<many, places, 1, 0>(w, output);
}

// By as many places at once as there are registers for and a row has, such that the fewest are made twice.
template <int many, int most, int half, int quarter>
static WORKBENCH_INLINE void group_sums_within(const GroupWindows& w, std::int64_t output) {
    const std::int64_t ways[] = {most, half, quarter, 4, 2};
    std::int64_t best = 1, least = w.count * 2;
    for (const std::int64_t way : ways) {
        const std::int64_t made = (w.count + way - 1) / way * way;
        if (way <= w.count && made < least) best = way, least = made;
    }
    switch (best) {
        case most: return group_sums_by<many, most>(w, output);
        case half: return group_sums_by<many, half>(w, output);
        case quarter: return group_sums_by<many, quarter>(w, output);
        case 4: return group_sums_by<many, 4>(w, output);
        case 2: return group_sums_by<many, 2>(w, output);
        default: return group_sums_by<many, 1>(w, output);
    }
}

static void group_sums(const GroupWindows& w) {
    std::int64_t output = 0;
#ifdef WORKBENCH_AVX512
    // Two registers of outputs by themselves: the weights of one stay in the first cache, and runs of taps leave enough to do.
    const bool apart = w.step == 2 * lanes && w.taps_of_runs == 3;
    for (; !apart && w.outputs - output > lanes; output += 2 * lanes) group_sums_within<2, 14, 8, 7>(w, output);
    for (; output < w.outputs; output += lanes) group_sums_within<1, 14, 8, 7>(w, output);
#else
    for (; w.outputs - output > lanes; output += 2 * lanes) group_sums_within<2, 5, 3, 6>(w, output);
    if (output < w.outputs) group_sums_within<1, 10, 8, 5>(w, output);
#endif
}

// sums[i][r] += what `count` places give to input i and register r of outputs.
template <int many, int inputs>
static WORKBENCH_INLINE void add_places(floats (*sums)[many], const float* g, std::int64_t g_step, const float* x, std::int64_t x_step,
                                        std::int64_t count) {
    for (; count > 0; --count, g += g_step, x += x_step) {
        floats slopes[many];
        for (int r = 0; r < many; ++r) slopes[r] = load_floats(g + r * lanes);
        for (int i = 0; i < inputs; ++i) {
            const floats seen = all(x[i]);
            for (int r = 0; r < many; ++r) sums[i][r] += seen * slopes[r];
        }
    }
}

// Adds what a plane of gradients gives to a tap, for `many` registers of outputs and some inputs. A sum in floats has some 64
// terms, and those sums are added in floats again.
template <int many, int inputs>
static WORKBENCH_INLINE void group_tap_sums_at(const GroupTapSums& w, std::int64_t tap, std::int64_t input, std::int64_t output) {
    constexpr std::int64_t most = 64;
    const std::int64_t g_step = w.gradient_depth, x_step = w.step, count = w.count, to_step = w.tap_count * g_step;
    float* to = w.sums + (input * w.tap_count + tap) * g_step + output;
    floats sums[inputs][many];
    for (int i = 0; i < inputs; ++i)
        for (int r = 0; r < many; ++r) sums[i][r] = all(0.f);
    std::int64_t terms = 0;
    const auto empty = [&] {
        for (int i = 0; i < inputs; ++i)
            for (int r = 0; r < many; ++r) {
                float* at = to + i * to_step + r * lanes;
                store_floats(at, load_floats(at) + sums[i][r]), sums[i][r] = all(0.f);
            }
        terms = 0;
    };
    const float *g = w.gradient + output, *x = w.plane + w.taps[tap].offset + input;
    for (std::int64_t row = 0; row < w.rows; ++row, g += count * g_step, x += w.plane_step) {
        std::int64_t place = 0;
        for (; count - place > most; place += most) add_places<many, inputs>(sums, g + place * g_step, g_step, x + place * x_step, x_step, most), empty();
        add_places<many, inputs>(sums, g + place * g_step, g_step, x + place * x_step, x_step, count - place);
        terms += count - place;
        if (terms + count > most) empty();
    }
    if (terms) empty();
}

static void group_tap_sums(const GroupTapSums& w) {
    constexpr int inputs = lanes / 2;  // beside two registers; beside one, twice as many
    for (std::int64_t tap = 0; tap < w.tap_count; ++tap) {
        std::int64_t output = 0;
        for (; w.outputs - output > lanes; output += 2 * lanes)
            for (std::int64_t input = 0; input < w.inputs; input += inputs) group_tap_sums_at<2, inputs>(w, tap, input, output);
        if (output < w.outputs)
            for (std::int64_t input = 0; input < w.inputs; input += lanes) group_tap_sums_at<1, lanes>(w, tap, input, output);
    }
}
