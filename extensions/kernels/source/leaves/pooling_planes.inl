// The largest value of each window of planes that lie row by row, floats. Included once per instruction set; see dispatch.hpp.

static WORKBENCH_INLINE void copy_floats(const float* from, std::int64_t count, float* to) {
    std::int64_t i = 0;
    for (; i + 8 <= count; i += 8) store(to + i, load(from + i));
    if (count >= 8)
        store(to + count - 8, load(from + count - 8));
    else
        for (; i < count; ++i) to[i] = from[i];
}

// Eight floats, `step` apart.
template <int step>
static WORKBENCH_INLINE floats8 load_every(const float* p, std::int64_t any) {
    if constexpr (step == 1) return load(p);
    if constexpr (step == 2) return __builtin_shufflevector(load(p), load(p + 8), 0, 2, 4, 6, 8, 10, 12, 14);
    return floats8{p[0], p[any], p[2 * any], p[3 * any], p[4 * any], p[5 * any], p[6 * any], p[7 * any]};
}

typedef std::int32_t four_ints __attribute__((vector_size(16)));
typedef std::int64_t four_longs __attribute__((vector_size(32)));
typedef std::int64_t four_longs_unaligned __attribute__((vector_size(32), aligned(8), may_alias));

static WORKBENCH_INLINE void store_wide(std::int64_t* to, ints8 v) {
    const four_ints low = __builtin_shufflevector(v, v, 0, 1, 2, 3), high = __builtin_shufflevector(v, v, 4, 5, 6, 7);
    *reinterpret_cast<four_longs_unaligned*>(to) = __builtin_convertvector(low, four_longs);
    *reinterpret_cast<four_longs_unaligned*>(to + 4) = __builtin_convertvector(high, four_longs);
}

// A row of outputs, eight at a time: each compares all taps of its window, row by row. A NaN wins over every number, and of equal
// values the first one wins, as in PyTorch; where all are -inf that is the first tap inside.
template <int step>
static WORKBENCH_INLINE void max_pool_line(const PoolVolume& v, const PoolLine& line, float* values, std::int64_t* indices) {
    // Copies: what is written may not be one of them, and stays in registers.
    const std::int64_t columns = v.output[2], stride = v.stride[2], gap = v.dilation[2], kernel = v.kernel[2], width = v.size[2];
    const std::int64_t height = v.size[1], padded_width = v.padded_width, step_down = v.dilation[1], step_deep = v.dilation[0];
    const PoolLine at = line;
    const float* padded = v.padded;
    const std::int32_t* first_columns = v.first_columns;
    const ints8 ramp = ints8{0, 1, 2, 3, 4, 5, 6, 7} * spread(static_cast<int>(stride)) - spread(static_cast<int>(v.padding[2]));
    const ints8 next = spread(static_cast<int>(gap));
    const int first_row = static_cast<int>((at.first[0] * height + at.first[1]) * width);
    for (std::int64_t column = 0; column < columns; column += 8) {
        floats8 best = spread(-__builtin_inff());
        ints8 where = load(first_columns + column) + spread(first_row);
        for (std::int64_t z = at.first[0]; z < at.end[0]; z += step_deep)
            for (std::int64_t y = at.first[1]; y < at.end[1]; y += step_down) {
                const std::int64_t row = z * height + y;
                const float* taps = padded + row * padded_width + column * stride;
                ints8 here = ramp + spread(static_cast<int>(row * width + column * stride));
                for (std::int64_t k = 0; k < kernel; ++k, taps += gap, here += next) {
                    const floats8 value = load_every<step>(taps, stride);
                    const ints8 better = (value > best) | (value != value);
                    best = better ? value : best;
                    where = better ? here : where;
                }
            }
        if (column + 8 <= columns) {
            store(values + column, best);
            store_wide(indices + column, where);
        } else {
            float some[8];
            std::int64_t places[8];
            store(some, best), store_wide(places, where);
            for (std::int64_t i = 0; column + i < columns; ++i) values[column + i] = some[i], indices[column + i] = places[i];
        }
    }
}

static WORKBENCH_INLINE void taps_inside(const PoolVolume& v, int d, std::int64_t place, PoolLine& line) {
    const std::int64_t from = place * v.stride[d] - v.padding[d], gap = v.dilation[d];
    const std::int64_t end = from + gap * (v.kernel[d] - 1) + 1;
    line.first[d] = from < 0 ? from + (gap - 1 - from) / gap * gap : from;
    line.end[d] = end < v.size[d] ? end : v.size[d];
}

template <int step>
static void max_pool_planes_of(const PoolVolume& given, std::int64_t begin, std::int64_t end) {
    PoolVolume v = given;
    const std::int64_t rows = v.size[0] * v.size[1], seen = rows * v.size[2];
    float* values = v.values + begin * v.output[0] * v.output[1] * v.output[2];
    std::int64_t* indices = v.indices + (values - v.values);
    for (std::int64_t plane = begin; plane < end; ++plane) {
        const float* from = v.input + plane * seen;
        v.padded = from;
        if (v.padding[2] || plane >= v.readable) {
            v.padded = v.room;
            for (std::int64_t row = 0; row < rows; ++row)
                copy_floats(from + row * v.size[2], v.size[2], v.room + row * v.padded_width + v.padding[2]);
        }
        PoolLine line;
        for (std::int64_t z = 0; z < v.output[0]; ++z) {
            taps_inside(v, 0, z, line);
            for (std::int64_t y = 0; y < v.output[1]; ++y, values += v.output[2], indices += v.output[2]) {
                taps_inside(v, 1, y, line);
                max_pool_line<step>(v, line, values, indices);
            }
        }
    }
}

static void max_pool_planes(const PoolVolume& v, std::int64_t begin, std::int64_t end) {
    if (v.stride[2] == 1) return max_pool_planes_of<1>(v, begin, end);
    if (v.stride[2] == 2) return max_pool_planes_of<2>(v, begin, end);
    max_pool_planes_of<0>(v, begin, end);
}
