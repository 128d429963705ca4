// How a convolution of groups walks over planes: parts of an image, with zeros written out where windows stand over padding.
#pragma once

#include <cstring>

#include "convolution_geometry.hpp"
#include "threads.hpp"

namespace workbench {

// Part of an image that becomes a plane [rows, columns, depth]: rows and columns from the first ones on, which may lie
// outside. Steps are in floats. A depth is a multiple of the lanes; what no channel fills is zeros.
struct PlaneOf {
    const float* image;
    std::int64_t channel_step, row_step, column_step, channels, height, width;
    std::int64_t depth, first_row, first_column, rows, columns;
    float *plane, *room;  // for as many floats as the image's channels have
};

// A tap of a window: where it reads, in floats from the window's first place in the plane, and its number in the weight.
struct Tap {
    std::int64_t offset, number;
};

// Where windows stand along one dimension, for outputs `start`, `start` + `every`, …: the gradient of an input that was
// walked in steps of s has s such sets, each of which meets taps of its own.
struct Walk {
    std::int64_t start, every, count, step;
    std::vector<Tap> taps;  // from the place of the first output
};

inline std::vector<Walk> forwards(const Geometry<2>& g, std::size_t i) {
    Walk walk{0, 1, g.output[i + 2], g.stride[i], {}};
    for (std::int64_t k = 0; k < g.weight[i + 2]; ++k) walk.taps.push_back({k * g.dilation[i] - g.padding[i], k});
    return {walk};
}

inline std::vector<Walk> backwards(const Geometry<2>& g, std::size_t i) {
    std::vector<Walk> walks;
    const std::int64_t size = g.input[i + 2], every = g.stride[i];
    for (std::int64_t start = 0; start < std::min(every, size); ++start) {
        Walk walk{start, every, (size - start + every - 1) / every, 1, {}};
        for (std::int64_t k = 0; k < g.weight[i + 2]; ++k) {
            const std::int64_t from = start + g.padding[i] - k * g.dilation[i];
            if (from % every == 0) walk.taps.push_back({from / every, k});
        }
        walks.push_back(std::move(walk));
    }
    return walks;
}

// The places that taps of all walks read, relative to the first place of a walk.
struct Reach {
    std::int64_t least = 0, most = 0;
    explicit Reach(const std::vector<Walk>& walks) {
        for (const Walk& walk : walks)
            for (const Tap& tap : walk.taps) least = std::min(least, tap.offset), most = std::max(most, tap.offset);
    }
};

// Whether no value is infinite or NaN: by the bits of their exponents, which the compiler looks at several at a time.
inline bool all_finite(const float* values, std::int64_t count) {
    constexpr std::uint32_t most = 0x7f800000;
    std::uint32_t found = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        std::uint32_t bits;
        std::memcpy(&bits, values + i, sizeof bits);
        found |= (bits & most) == most;
    }
    return !found;
}

inline std::int64_t taps_of(const Geometry<2>& g) { return g.weight[2] * g.weight[3]; }

// Rows of outputs that are worked on together: their plane stays in the second cache, and so do the same rows of all channels.
inline std::int64_t band_of(std::int64_t height, std::int64_t width, std::int64_t depth, std::int64_t channels, std::int64_t step,
                            std::int64_t reach) {
    constexpr std::int64_t plane = 32768, rows_of_all = 131072;  // floats
    const std::int64_t lines = std::min(plane / (width * depth), rows_of_all / (width * channels));
    return std::clamp<std::int64_t>((lines - reach) / step, std::max<std::int64_t>(4, 2 * reach / step), std::max<std::int64_t>(4, height));
}

// Rows of many channels are taken by stretches of a multiple of `places`, or each store would meet a page of its own.
inline std::int64_t tile_of(std::int64_t width, std::int64_t channels, std::int64_t reach, std::int64_t places) {
    constexpr std::int64_t row = 65536;  // floats
    return std::min(width, std::max<std::int64_t>({32, 4 * reach, row / channels}) / places * places);
}

// `channels` of an image from one on; which rows and columns, and where to, is not said yet.
inline PlaneOf plane_of(const Input<float>& x, std::int64_t image, std::int64_t channel, std::int64_t channels, std::int64_t depth) {
    // The step along channels that are alone may be anything.
    return {x.data() + image * x.stride(0) + channel * x.stride(1), x.stride(1), x.stride(2), x.stride(3), channels,
            static_cast<std::int64_t>(x.shape(2)), static_cast<std::int64_t>(x.shape(3)), depth, 0, 0, 0, 0, nullptr, nullptr};
}

// What `room` of a plane of such images has to hold.
inline Buffer<float> room_for(const Input<float>& x, std::int64_t depth) {
    return Buffer<float>(x.shape(3) < 8 ? static_cast<std::int64_t>(x.shape(2) * x.shape(3)) * depth : 0);
}

// The taps of a walk down and one across, as offsets into a plane.
inline std::vector<Tap> taps_in_plane(const Geometry<2>& g, const Walk& down, const Walk& across, const Reach& tall, const Reach& broad,
                                      std::int64_t columns, std::int64_t depth) {
    std::vector<Tap> taps;
    for (const Tap& above : down.taps)
        for (const Tap& tap : across.taps)
            taps.push_back({((above.offset - tall.least) * columns + tap.offset - broad.least) * depth, above.number * g.weight[3] + tap.number});
    return taps;
}

}  // namespace workbench
