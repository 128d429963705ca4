// A convolution and its gradients as one product each, with what windows see written out.
//
// oneDNN's own code for the weight's gradient in bfloat16 walks along rows of the image; where an image has few places it is
// slower than in float32. There the windows are few too, and written out they are a matrix that its products take as it lies.
// Where there are fewer places than channels, most of a convolution and of its input's gradient is bringing the weight into
// oneDNN's order, which takes two threads as long as one and which a product does not ask for; and oneDNN goes image by image,
// so that over images of one pixel it multiplies by a single row at a time.
#pragma once

#include <cstring>

#include "convolution_geometry.hpp"
#include "matmul_bfloat16.hpp"

namespace workbench {

template <std::size_t N>
bool has_few_places(const Geometry<N>& g) {
    constexpr std::int64_t few = 256;
    return g.groups == 1 && count_of(g.output) / g.output[1] <= few;
}

// Whether the weight is larger than what its windows see, written out.
template <std::size_t N>
bool has_fewer_places_than_channels(const Geometry<N>& g) {
    return has_few_places(g) && 2 * (count_of(g.output) / g.output[1]) <= g.output[1];
}

// Row by row what the window sees at each place of the output, [N, places, C, taps], of images that lie channels-last.
template <std::size_t N>
Buffer<bfloat16> window_rows(const Geometry<N>& g, const bfloat16* x) {
    const std::int64_t channels = g.input[1], rows = count_of(g.output) / g.output[1];
    const std::int64_t taps = count_of(g.weight) / (g.weight[0] * g.weight[1]), width = channels * taps;
    Buffer<bfloat16> out(rows * width);
    parallel_for(rows, grain_for(width), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
            Along<N> place;
            std::int64_t image = row;
            for (std::size_t i = N; i-- > 0; image /= g.output[i + 2]) place[i] = image % g.output[i + 2];
            bfloat16* to = out.data() + row * width;
            for (std::int64_t tap = 0; tap < taps; ++tap) {
                std::int64_t rest = tap, from = image;
                Along<N> at;
                bool inside = true;
                for (std::size_t i = N; i-- > 0; rest /= g.weight[i + 2]) {
                    at[i] = place[i] * g.stride[i] - g.padding[i] + rest % g.weight[i + 2] * g.dilation[i];
                    inside = inside && at[i] >= 0 && at[i] < g.input[i + 2];
                }
                for (std::size_t i = 0; i < N; ++i) from = from * g.input[i + 2] + at[i];
                const bfloat16* seen = x + from * channels;
                if (!inside)
                    for (std::int64_t c = 0; c < channels; ++c) to[c * taps + tap] = bfloat16(0.f);
                else if (taps == 1)
                    std::memcpy(to, seen, static_cast<std::size_t>(channels) * sizeof(bfloat16));
                else
                    for (std::int64_t c = 0; c < channels; ++c) to[c * taps + tap] = seen[c];
            }
        }
    });
    return out;
}

// Where the taps that see more than padding lie among all those of a pair of channels.
template <std::size_t N>
Dims used_taps(const Geometry<N>& g) {
    const Dims inner(g.weight.begin() + 2, g.weight.end()), steps = row_major_strides(Dims(g.whole.begin() + 2, g.whole.end()));
    Dims places(static_cast<std::size_t>(count_of(inner)), g.offset);
    for (std::int64_t tap = 0; tap < count_of(inner); ++tap)
        for (std::int64_t d = N, rest = tap; d-- > 0; rest /= inner[d]) places[tap] += rest % inner[d] * steps[d];
    return places;
}

// The weight with only those taps, [O, C, taps]. Pair by pair, as the whole one lies: oneDNN's reordering goes from output to
// output, whose memory is a power of two apart and meets in the same few lines of the cache.
template <std::size_t N>
Buffer<bfloat16> gathered_taps(const Geometry<N>& g, const bfloat16* whole) {
    const std::int64_t pairs = g.weight[0] * g.weight[1], all = count_of(g.whole) / pairs;
    const Dims places = used_taps(g);
    const std::int64_t taps = static_cast<std::int64_t>(places.size());
    Buffer<bfloat16> out(pairs * taps);
    parallel_for(pairs, grain_for(all), [&](std::int64_t begin, std::int64_t end) {
        if (taps == 1) {
            const bfloat16* from = whole + places[0];
            for (std::int64_t pair = begin; pair < end; ++pair) out.data()[pair] = from[pair * all];
            return;
        }
        for (std::int64_t pair = begin; pair < end; ++pair)
            for (std::int64_t tap = 0; tap < taps; ++tap) out.data()[pair * taps + tap] = whole[pair * all + places[tap]];
    });
    return out;
}

// From a weight without the taps that see only padding to the whole one, with zeros there. A general copy takes the two or
// three taps of a row at a time; here each tap of many channels is one loop of even steps, while their memory is near.
template <std::size_t N>
void spread_taps(const Geometry<N>& g, const bfloat16* used, bfloat16* out) {
    constexpr std::int64_t together = 256;
    const std::int64_t pairs = g.weight[0] * g.weight[1], taps = count_of(g.weight) / pairs, all = count_of(g.whole) / pairs;
    const Dims places = used_taps(g);
    parallel_for((pairs + together - 1) / together, grain_for(together * all), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t first = begin * together; first < std::min(pairs, end * together); first += together) {
            const std::int64_t some = std::min(together, pairs - first);
            std::memset(out + first * all, 0, static_cast<std::size_t>(some * all) * sizeof(bfloat16));
            for (std::int64_t tap = 0; tap < taps; ++tap) {
                const bfloat16* from = used + first * taps + tap;
                bfloat16* to = out + first * all + places[tap];
                for (std::int64_t i = 0; i < some; ++i) to[i * all] = from[i * taps];
            }
        }
    });
}

// The weight as one matrix, [O, C * taps]: as it lies, or without the taps that see only padding.
template <std::size_t N>
class WeightRows {
   public:
    WeightRows(const Geometry<N>& g, const bfloat16* whole) : data_(whole) {
        if (g.shortened()) gathered_ = gathered_taps(g, whole), data_ = gathered_.data();
    }
    const bfloat16* data() const { return data_; }

   private:
    Buffer<bfloat16> gathered_;
    const bfloat16* data_;
};

// Into `out`, channels-last.
template <std::size_t N>
void convolve_few_places(const Geometry<N>& g, const bfloat16* x, const bfloat16* weight, const bfloat16* bias, bool relu,
                         bfloat16* out) {
    const std::int64_t outputs = g.output[1], rows = count_of(g.output) / outputs, width = count_of(g.weight) / outputs;
    const auto seen = window_rows(g, x);
    const WeightRows<N> matrix(g, weight);
    multiply_by_columns(seen.data(), matrix.data(), rows, width, outputs, bias, relu, out);
}

// Into `out`, the whole weight's gradient, row by row.
template <std::size_t N>
void weight_gradient_of_few_places(const Geometry<N>& g, const bfloat16* gradient, const bfloat16* x, bfloat16* out) {
    const std::int64_t outputs = g.output[1], rows = count_of(g.output) / outputs, width = count_of(g.weight) / g.weight[0];
    const auto seen = window_rows(g, x);
    if (!g.shortened()) return multiply_by_rows(gradient, seen.data(), outputs, width, rows, out);
    const Buffer<bfloat16> part(outputs * width);
    multiply_by_rows(gradient, seen.data(), outputs, width, rows, part.data());
    spread_taps(g, part.data(), out);
}

// The windows that see a place of the input along one dimension: by which tap, from which place of the output.
struct Seeing {
    std::int64_t tap, place;
};
inline std::vector<std::vector<Seeing>> seen_from(std::int64_t size, std::int64_t places, std::int64_t taps, std::int64_t step,
                                                  std::int64_t before, std::int64_t gap) {
    std::vector<std::vector<Seeing>> found(static_cast<std::size_t>(size));
    for (std::int64_t tap = 0; tap < taps; ++tap)
        for (std::int64_t place = 0; place < places; ++place) {
            const std::int64_t at = place * step - before + tap * gap;
            if (at >= 0 && at < size) found[at].push_back({tap, place});
        }
    return found;
}

// Into `out`, channels-last: what each window hands to each of its taps is one product, and the sums at a place are floats
// until all are there.
template <std::size_t N>
void input_gradient_of_few_places(const Geometry<N>& g, const bfloat16* gradient, const bfloat16* weight, bfloat16* out) {
    const std::int64_t channels = g.input[1], outputs = g.output[1], rows = count_of(g.output) / outputs;
    const std::int64_t width = count_of(g.weight) / outputs, taps = width / channels;
    const Buffer<float> handed(rows * width);
    const WeightRows<N> matrix(g, weight);
    multiply_to_floats(gradient, matrix.data(), rows, outputs, width, handed.data());
    std::array<std::vector<std::vector<Seeing>>, N> along;
    for (std::size_t d = 0; d < N; ++d)
        along[d] = seen_from(g.input[d + 2], g.output[d + 2], g.weight[d + 2], g.stride[d], g.padding[d], g.dilation[d]);
    const std::int64_t places = count_of(g.input) / channels;
    parallel_for(places, grain_for(width), [&](std::int64_t begin, std::int64_t end) {
        std::vector<float> sums(static_cast<std::size_t>(channels));
        for (std::int64_t at = begin; at < end; ++at) {
            std::array<const std::vector<Seeing>*, N> seeing;
            std::int64_t image = at, ways = 1;
            for (std::size_t d = N; d-- > 0; image /= g.input[d + 2]) {
                seeing[d] = &along[d][image % g.input[d + 2]];
                ways *= static_cast<std::int64_t>(seeing[d]->size());
            }
            std::fill(sums.begin(), sums.end(), 0.f);
            for (std::int64_t way = 0; way < ways; ++way) {
                std::int64_t row = image, tap = 0, rest = way, before = ways;
                for (std::size_t d = 0; d < N; ++d) {
                    before /= static_cast<std::int64_t>(seeing[d]->size());
                    const Seeing& one = (*seeing[d])[rest / before];
                    rest %= before;
                    row = row * g.output[d + 2] + one.place, tap = tap * g.weight[d + 2] + one.tap;
                }
                const float* from = handed.data() + row * width + tap;
                for (std::int64_t c = 0; c < channels; ++c) sums[c] += from[c * taps];
            }
            for (std::int64_t c = 0; c < channels; ++c) out[at * channels + c] = sums[c];
        }
    });
}

}  // namespace workbench
