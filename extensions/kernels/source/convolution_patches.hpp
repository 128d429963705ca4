// The gradient of a convolution's weight as one product of what windows see.
//
// oneDNN's own code for it in bfloat16 walks along rows of the image; where an image has few places it is slower than in
// float32. There the windows are few too, and written out they are a matrix that its products take as it lies.
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

// Into `out`, the whole weight's gradient, row by row.
template <std::size_t N>
void weight_gradient_of_few_places(const Geometry<N>& g, const bfloat16* gradient, const bfloat16* x, bfloat16* out) {
    const std::int64_t outputs = g.output[1], rows = count_of(g.output) / outputs, width = count_of(g.weight) / g.weight[0];
    const auto seen = window_rows(g, x);
    if (!g.shortened()) return multiply_by_rows(gradient, seen.data(), outputs, width, rows, out);
    const Buffer<bfloat16> part(outputs * width);
    multiply_by_rows(gradient, seen.data(), outputs, width, rows, part.data());
    std::fill_n(out, count_of(g.whole), bfloat16(0.f));
    copy_strided(out + g.offset, row_major_strides(g.whole), part.data(), g.weight, row_major_strides(g.weight));
}

}  // namespace workbench
