// Pooling: the loops over windows and channels, floats or bfloat16 (`T`) computed in floats. Included once per instruction set; see dispatch.hpp.

// The taps of one window that lie inside the input: first, first + dilation, ... below `end`.
struct Taps {
    std::int64_t first, end;
};

static WORKBENCH_INLINE Taps taps(std::int64_t out, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                           std::int64_t dilation, std::int64_t size) {
    std::int64_t first = out * stride - padding;
    const std::int64_t end = first + dilation * (kernel - 1) + 1;
    if (first < 0) first += (-first + dilation - 1) / dilation * dilation;
    return {first, end < size ? end : size};
}

// Eight places, of four bytes or of eight.
static WORKBENCH_INLINE void store_places(std::int64_t* to, ints8 places) {
    *reinterpret_cast<longs8_unaligned*>(to) = __builtin_convertvector(places, longs8);
}
static WORKBENCH_INLINE void store_places(std::int32_t* to, ints8 places) { *reinterpret_cast<ints8_unaligned*>(to) = places; }
static WORKBENCH_INLINE ints8 load_places(const std::int64_t* from) {
    return __builtin_convertvector(*reinterpret_cast<const longs8_unaligned*>(from), ints8);
}
static WORKBENCH_INLINE ints8 load_places(const std::int32_t* from) { return *reinterpret_cast<const ints8_unaligned*>(from); }

// One row of outputs. A NaN wins over every number, and of equal values the first one wins, as in PyTorch.
template <typename T, typename Index>
static void max_pool_row(const T* image, const PoolPlane& p, std::int64_t row, T* values, Index* indices) {
    const std::int64_t width = p.width, channels = p.channels;
    const Taps ys = taps(row, p.kernel_y, p.stride_y, p.padding_y, p.dilation_y, p.height);
    for (std::int64_t column = 0; column < p.out_width; ++column) {
        const Taps xs = taps(column, p.kernel_x, p.stride_x, p.padding_x, p.dilation_x, width);
        const int start = static_cast<int>(ys.first * width + xs.first);
        std::int64_t c = 0;
        for (; c + 8 <= channels; c += 8) {
            floats8 best = load(image + start * channels + c);
            ints8 where = spread(start);
            for (std::int64_t y = ys.first; y < ys.end; y += p.dilation_y)
                for (std::int64_t x = xs.first; x < xs.end; x += p.dilation_x) {
                    const int here = static_cast<int>(y * width + x);
                    const floats8 value = load(image + here * channels + c);
                    const ints8 better = (value > best) | (value != value);
                    best = better ? value : best;
                    where = better ? spread(here) : where;
                }
            store(values + column * channels + c, best);
            store_places(indices + column * channels + c, where);
        }
        for (; c < channels; ++c) {
            float best = image[start * channels + c];
            int where = start;
            for (std::int64_t y = ys.first; y < ys.end; y += p.dilation_y)
                for (std::int64_t x = xs.first; x < xs.end; x += p.dilation_x) {
                    const float value = image[(y * width + x) * channels + c];
                    if (value > best || value != value) best = value, where = static_cast<int>(y * width + x);
                }
            values[column * channels + c] = best;
            indices[column * channels + c] = where;
        }
    }
}

// One row of outputs of tiles, values only.
static void max_pool_tile_row(const float* rows, std::int64_t width, std::int64_t channels, std::int64_t high,
                                        std::int64_t wide, std::int64_t out_width, float* values) {
    for (std::int64_t column = 0; column < out_width; ++column) {
        const float* corner = rows + column * wide * channels;
        std::int64_t c = 0;
        for (; c + 8 <= channels; c += 8) {
            floats8 best = load(corner + c);
            for (std::int64_t y = 0; y < high; ++y)
                for (std::int64_t x = 0; x < wide; ++x) {
                    const floats8 value = load(corner + (y * width + x) * channels + c);
                    best = (value > best) | (value != value) ? value : best;
                }
            store(values + column * channels + c, best);
        }
        for (; c < channels; ++c) {
            float best = corner[c];
            for (std::int64_t y = 0; y < high; ++y)
                for (std::int64_t x = 0; x < wide; ++x) {
                    const float value = corner[(y * width + x) * channels + c];
                    if (value > best || value != value) best = value;
                }
            values[column * channels + c] = best;
        }
    }
}

// The gradient of one sample when its windows are tiles: every input element takes its window's gradient or zero.
// Returns false, with `out` half written, when an index lies outside its own tile.
template <typename T, typename Index>
static bool max_pool_tile_gradient(const T* gradient, const Index* indices, std::int64_t height,
                                             std::int64_t width, std::int64_t channels, std::int64_t out_height,
                                             std::int64_t out_width, T* out) {
    const std::int64_t high = height / out_height, wide = width / out_width;
    ints8 all_found = spread(-1);
    bool tail_found = true;
    for (std::int64_t row = 0; row < out_height; ++row) {
        for (std::int64_t column = 0; column < out_width; ++column) {
            const std::int64_t at = (row * out_width + column) * channels;
            std::int64_t c = 0;
            for (; c + 8 <= channels; c += 8) {
                const floats8 value = load(gradient + at + c);
                const ints8 where = load_places(indices + at + c);
                ints8 found = {};
                for (std::int64_t y = row * high; y < (row + 1) * high; ++y)
                    for (std::int64_t x = column * wide; x < (column + 1) * wide; ++x) {
                        const int here = static_cast<int>(y * width + x);
                        const ints8 chosen = where == here;
                        found |= chosen;
                        store(out + here * channels + c, chosen ? value : spread(0.f));
                    }
                all_found &= found;
            }
            for (; c < channels; ++c) {
                bool found = false;
                for (std::int64_t y = row * high; y < (row + 1) * high; ++y)
                    for (std::int64_t x = column * wide; x < (column + 1) * wide; ++x) {
                        const bool chosen = indices[at + c] == y * width + x;
                        found |= chosen;
                        out[(y * width + x) * channels + c] = chosen ? static_cast<float>(gradient[at + c]) : 0.f;
                    }
                tail_found &= found;
            }
        }
        for (std::int64_t y = row * high; y < (row + 1) * high; ++y)
            for (std::int64_t i = (y * width + out_width * wide) * channels; i < (y + 1) * width * channels; ++i)
                out[i] = 0.f;
    }
    for (std::int64_t i = out_height * high * width * channels; i < height * width * channels; ++i) out[i] = 0.f;
    for (int lane = 0; lane < 8; ++lane) tail_found &= all_found[lane] != 0;
    return tail_found;
}

// One row of outputs over bytes, values only.
static void max_pool_bytes_row(const std::uint8_t* image, const PoolPlane& p, std::int64_t row, std::uint8_t* values) {
    const std::int64_t width = p.width, channels = p.channels;
    const Taps ys = taps(row, p.kernel_y, p.stride_y, p.padding_y, p.dilation_y, p.height);
    for (std::int64_t column = 0; column < p.out_width; ++column) {
        const Taps xs = taps(column, p.kernel_x, p.stride_x, p.padding_x, p.dilation_x, width);
        std::uint8_t* __restrict out = values + column * channels;
        for (std::int64_t c = 0; c < channels; ++c) out[c] = 0;
        for (std::int64_t y = ys.first; y < ys.end; y += p.dilation_y)
            for (std::int64_t x = xs.first; x < xs.end; x += p.dilation_x) {
                const std::uint8_t* __restrict tap = image + (y * width + x) * channels;
                for (std::int64_t c = 0; c < channels; ++c) out[c] = tap[c] > out[c] ? tap[c] : out[c];
            }
    }
}

// The averages of `many` vectors of channels: so many sums run at once.
template <int many, typename T>
static WORKBENCH_INLINE void average_of(const T* image, std::int64_t channels, std::int64_t width, Taps ys, Taps xs, float count,
                                        T* out) {
    floats8 sums[many];
    for (int v = 0; v < many; ++v) sums[v] = spread(0.f);
    for (std::int64_t y = ys.first; y < ys.end; ++y)
        for (std::int64_t x = xs.first; x < xs.end; ++x)
            for (int v = 0; v < many; ++v) sums[v] += load(image + (y * width + x) * channels + 8 * v);
    for (int v = 0; v < many; ++v) store(out + 8 * v, sums[v] / count);
}

// One row of averages; `padded` divides by the whole window, else by the taps inside the input.
template <typename T>
static void average_pool_row(const T* image, const PoolPlane& p, std::int64_t row, bool padded, T* values) {
    const std::int64_t width = p.width, channels = p.channels;
    const Taps ys = taps(row, p.kernel_y, p.stride_y, p.padding_y, 1, p.height);
    for (std::int64_t column = 0; column < p.out_width; ++column) {
        const Taps xs = taps(column, p.kernel_x, p.stride_x, p.padding_x, 1, width);
        const std::int64_t inside = (ys.end - ys.first) * (xs.end - xs.first);
        const float count = static_cast<float>(padded ? p.kernel_y * p.kernel_x : inside);
        T* out = values + column * channels;
        std::int64_t c = 0;
        for (; c + 64 <= channels; c += 64) average_of<8>(image + c, channels, width, ys, xs, count, out + c);
        for (; c + 8 <= channels; c += 8) average_of<1>(image + c, channels, width, ys, xs, count, out + c);
        for (; c < channels; ++c) {
            float sum = 0.f;
            for (std::int64_t y = ys.first; y < ys.end; ++y)
                for (std::int64_t x = xs.first; x < xs.end; ++x) sum += image[(y * width + x) * channels + c];
            out[c] = sum / count;
        }
    }
}

// Adds to `out`, which is in floats: windows may share places.
template <typename T>
static void average_pool_gradient_row(const T* gradient, const PoolPlane& p, std::int64_t row,
                                                bool padded, float* out) {
    const std::int64_t width = p.width, channels = p.channels;
    const Taps ys = taps(row, p.kernel_y, p.stride_y, p.padding_y, 1, p.height);
    for (std::int64_t column = 0; column < p.out_width; ++column) {
        const Taps xs = taps(column, p.kernel_x, p.stride_x, p.padding_x, 1, width);
        const std::int64_t inside = (ys.end - ys.first) * (xs.end - xs.first);
        const float count = static_cast<float>(padded ? p.kernel_y * p.kernel_x : inside);
        const T* from = gradient + column * channels;
        for (std::int64_t y = ys.first; y < ys.end; ++y)
            for (std::int64_t x = xs.first; x < xs.end; ++x) {
                float* tap = out + (y * width + x) * channels;
                for (std::int64_t c = 0; c < channels; ++c) tap[c] += from[c] / count;
            }
    }
}

// What was added up in floats, as it is stored.
static void stored(const float* from, std::int64_t count, bfloat16* to) {
    std::int64_t i = 0;
    for (; i + 8 <= count; i += 8) store(to + i, load(from + i));
    for (; i < count; ++i) to[i] = bfloat16(from[i]);
}
