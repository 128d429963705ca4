// Pooling over planes: averages and, where nobody asks where they were, maxima by oneDNN; maxima with their places by our own loops.
#include "../pooling.hpp"

#include <atomic>
#include <cstring>

#include "steps.hpp"

#define WORKBENCH_LEAVES "leaves/pooling.inl"
#include "../dispatch.hpp"

namespace workbench::compiled {
namespace {

struct Windows {
    Dims result, after, gaps;  // padding that is used behind, and gaps between taps, as oneDNN counts them
};

Windows windows(const Dims& sizes, const Dims& kernel, const Dims& stride, const Dims& padding, const Dims& dilation) {
    if (sizes.size() != 4 || kernel.size() != 2 || stride.size() != 2 || padding.size() != 2 || dilation.size() != 2)
        refuse("a compiled pooling has two spatial dims");
    Windows found{{sizes[0], sizes[1]}, Dims(2), Dims(2)};
    for (std::size_t i = 0; i < 2; ++i) {
        const std::int64_t reach = dilation[i] * (kernel[i] - 1) + 1, span = sizes[i + 2] + 2 * padding[i] - reach;
        if (stride[i] < 1 || span < 0) refuse("a pooling's window of " + text(kernel) + " does not fit " + text(sizes));
        found.result.push_back(span / stride[i] + 1);
        found.after[i] = (found.result.back() - 1) * stride[i] + reach - sizes[i + 2] - padding[i];
        found.gaps[i] = dilation[i] - 1;
    }
    return found;
}

dnnl::algorithm average(bool padded) {
    return padded ? dnnl::algorithm::pooling_avg_include_padding : dnnl::algorithm::pooling_avg_exclude_padding;
}

}  // namespace

// Values of [N, C, H, W] as images whose channels lie beside each other: all of them, or a block of them. What lies otherwise is
// turned to channels-last.
int Program::in_images(int x) {
    const Layout layout = at(x).layout;
    const Dims sizes = layout.get_dims();
    const Layout last = describe(sizes, channels_last_strides(sizes), layout.get_data_type());
    if (layout == last) return x;
    const bool blocks = layout.get_inner_nblks() == 1 && layout.get_inner_idxs()[0] == 1 && layout.get_padded_dims() == layout.get_dims();
    const std::int64_t block = blocks ? layout.get_inner_blks()[0] : 1;
    if (blocks && Dims(layout.get_strides()) == Dims{sizes[1] * sizes[2] * sizes[3], block * sizes[2] * sizes[3], block * sizes[3], block})
        return x;
    return laid(x, last);
}

Images Program::images_of(int x) const {
    const Layout layout = at(x).layout;
    const Dims sizes = layout.get_dims();
    const std::int64_t block = layout.get_inner_nblks() ? layout.get_inner_blks()[0] : sizes[1];
    return {sizes[0], sizes[1] / block, sizes[2], sizes[3], block};
}

// A layout of other planes in which channels lie as in this one.
Layout Program::alike(int x, const Dims& sizes, Kind kind) const {
    const Images images = images_of(x);
    if (images.blocks == 1 && !at(x).layout.get_inner_nblks()) return describe(sizes, channels_last_strides(sizes), kind);
    if (images.channels == 16) return Layout(sizes, kind, dnnl::memory::format_tag::aBcd16b);
    if (images.channels == 8) return Layout(sizes, kind, dnnl::memory::format_tag::aBcd8b);
    return Layout(sizes, kind, dnnl::memory::format_tag::aBcd4b);
}

int Program::pool(int x, const std::string& kind, const Dims& kernel, const Dims& stride, const Dims& padding, const Dims& dilation) {
    const Dims sizes = shape(x);
    const auto [result, after, gaps] = windows(sizes, kernel, stride, padding, dilation);
    const auto algorithm = kind == "max" ? dnnl::algorithm::pooling_max : average(kind == "average_padded");
    // A maximum of oneDNN's leaves NaN out.
    if (kind == "max") expect_finite({x});
    const Kind values = at(x).layout.get_data_type();
    if (!at(x).settled) x = laid(x, describe(sizes, channels_last_strides(sizes), values));
    const std::int64_t products = count_of(result) * kernel[0] * kernel[1];
    use_threads(workers_for(8 * products));
    const dnnl::pooling_forward::primitive_desc description(engine(), dnnl::prop_kind::forward_inference, algorithm, at(x).layout,
                                                            describe_freely(result, values), stride, kernel, gaps, padding, after, with_own_room());
    const int made = add_slot(description.dst_desc(), true);
    add("pooling", description, {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, made}}, 8 * products);
    return alike_values(made, x);
}

std::vector<int> Program::max_pool(int x, const Dims& kernel, const Dims& stride, const Dims& padding, const Dims& dilation) {
    const Dims sizes = shape(x), result = windows(sizes, kernel, stride, padding, dilation).result;
    if (sizes[2] * sizes[3] > std::numeric_limits<std::int32_t>::max()) refuse("a plane of " + text(sizes) + " has too many places");
    x = in_images(x);
    const Images images = images_of(x);
    const int values = add_slot(alike(x, result), true), places = add_slot(alike(x, result, Kind::s32), true);
    const PoolPlane plane{sizes[2], sizes[3], images.channels, result[3], kernel[0], kernel[1], stride[0], stride[1], padding[0], padding[1],
                          dilation[0], dilation[1]};
    const std::int64_t count = images.count * images.blocks, high = result[2], image = images.values(), row = result[3] * images.channels;
    add_loop("largest of windows own", {x, values, places}, thread_count(), [=](void* const* at) {
        const auto* from = static_cast<const float*>(at[0]);
        auto* to = static_cast<float*>(at[1]);
        auto* where = static_cast<std::int32_t*>(at[2]);
        parallel_for(count * high, grain_for(image / high), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i)
                LEAF(max_pool_row<float, std::int32_t>)(from + i / high * image, plane, i % high, to + i * row, where + i * row);
        });
    });
    return {values, places};
}

// Places that a run is given as int64, in four bytes.
int Program::narrowed(int x) {
    x = plain(x);
    const int slot = add_plain(shape(x), Storage::int32);
    const std::int64_t count = count_of(shape(x));
    add_loop("narrow", {x, slot}, thread_count(), [count](void* const* places) {
        const auto* from = static_cast<const std::int64_t*>(places[0]);
        auto* to = static_cast<std::int32_t*>(places[1]);
        parallel_for(count, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) to[i] = static_cast<std::int32_t>(from[i]);
        });
    });
    return slot;
}

int Program::max_pool_gradient(int gradient, int places, const Dims& input) {
    const Dims sizes = shape(gradient);
    if (type(places) == Storage::int64) places = narrowed(places);
    if (type(places) != Storage::int32 || shape(places) != sizes || input.size() != 4 || sizes.size() != 4 || input[0] != sizes[0] ||
        input[1] != sizes[1])
        refuse("a pooling's gradient of " + text(sizes) + " is of no pooling of " + text(input));
    // The gradient is turned to lie as the places do.
    places = in_images(places);
    gradient = laid(gradient, alike(places, sizes));
    const Images from = images_of(places);
    const int made = add_slot(alike(places, input), true);
    const std::int64_t count = from.count * from.blocks, pixels = from.high * from.wide, channels = from.channels;
    const std::int64_t plane = input[2] * input[3], high = input[2], wide = input[3], out_high = from.high, out_wide = from.wide;
    const bool tiles = out_high <= high && out_wide <= wide;
    add_loop("largest of windows' gradient own", {gradient, places, made}, thread_count(), [=](void* const* at) {
        const auto* gradients = static_cast<const float*>(at[0]);
        const auto* where = static_cast<const std::int32_t*>(at[1]);
        auto* out = static_cast<float*>(at[2]);
        parallel_for(count, grain_for(plane * channels), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const float* g = gradients + i * pixels * channels;
                const std::int32_t* w = where + i * pixels * channels;
                float* to = out + i * plane * channels;
                if (tiles && LEAF(max_pool_tile_gradient<float, std::int32_t>)(g, w, high, wide, channels, out_high, out_wide, to)) continue;
                std::memset(to, 0, static_cast<std::size_t>(plane * channels) * sizeof(float));
                for (std::int64_t pixel = 0; pixel < pixels; ++pixel)
                    for (std::int64_t c = 0; c < channels; ++c) {
                        const std::int64_t place = w[pixel * channels + c];
                        // Held places come from outside: whatever they are, nothing else is written.
                        if (place >= 0 && place < plane) to[place * channels + c] += g[pixel * channels + c];
                    }
            }
        });
    });
    return made;
}

int Program::average_pool_gradient(int gradient, const Dims& input, const Dims& kernel, const Dims& stride, const Dims& padding,
                                   bool padded) {
    const Dims result = windows(input, kernel, stride, padding, {1, 1}).result;
    if (shape(gradient) != result) refuse("a pooling's gradient has shape " + text(shape(gradient)) + "; expected " + text(result));
    // As the gradient lies, so does what it is of. oneDNN has code of its own for some windows only: not for whole planes.
    gradient = in_images(gradient);
    const Images from = images_of(gradient);
    // Averages of whole planes lie in any order at once: what comes behind had better take that of what else it is given.
    const int made = add_slot(alike(gradient, input), result[2] * result[3] > 1);
    const PoolPlane plane{input[2], input[3], from.channels, result[3], kernel[0], kernel[1], stride[0], stride[1], padding[0], padding[1],
                          1, 1};
    const std::int64_t high = result[2], row = result[3] * from.channels, image = input[2] * input[3] * from.channels;
    add_loop("averages' gradient own", {gradient, made}, thread_count(), [=](void* const* at) {
        const auto* gradients = static_cast<const float*>(at[0]);
        auto* out = static_cast<float*>(at[1]);
        parallel_for(from.count * from.blocks, grain_for(image), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                std::fill_n(out + i * image, image, 0.f);
                for (std::int64_t y = 0; y < high; ++y)
                    LEAF(average_pool_gradient_row<float>)(gradients + (i * high + y) * row, plane, y, padded, out + i * image);
            }
        });
    });
    return made;
}

}  // namespace workbench::compiled
