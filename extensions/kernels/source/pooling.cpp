// 2-D pooling over channels-last floats or bfloat16: the inner loops run along channels, so that one comparison serves eight.
#include "pooling.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "convolution.hpp"
#define WORKBENCH_LEAVES "leaves/pooling.inl"
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {

// One pooling geometry; `output` is [N, C, OH, OW].
struct Windows {
    Dims input, output;
    Pair kernel, stride, padding, dilation;

    Windows(const Dims& input_shape, Pair kernel, Pair stride, Pair padding, Pair dilation)
        : input(input_shape), kernel(kernel), stride(stride), padding(padding), dilation(dilation) {
        if (input.size() != 4) refuse("pooling input has shape " + text(input) + "; expected [N, C, H, W]");
        count_of(input);
        if (input[2] * input[3] > std::numeric_limits<int>::max())
            refuse("pooling input " + text(input) + " has planes of more than 2^31 elements");
        output = {input[0], input[1],
                  extent(input[2], kernel.first, stride.first, padding.first, dilation.first, "height"),
                  extent(input[3], kernel.second, stride.second, padding.second, dilation.second, "width")};
    }

    PoolPlane plane() const {
        return {input[2],     input[3],      input[1],       output[3],      kernel.first,   kernel.second, stride.first,
                stride.second, padding.first, padding.second, dilation.first, dilation.second};
    }

    static std::int64_t extent(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                               std::int64_t dilation, const char* name) {
        constexpr std::int64_t most = std::int64_t{1} << 20;
        const std::string given = std::string("pooling ") + name + ": kernel " + std::to_string(kernel) + ", stride " +
                                  std::to_string(stride) + ", padding " + std::to_string(padding) + ", dilation " +
                                  std::to_string(dilation);
        if (kernel < 1 || stride < 1 || dilation < 1 || std::max({kernel, stride, dilation}) > most)
            refuse(given + "; kernel, stride and dilation must be 1 to 2^20");
        if (padding < 0 || padding > kernel / 2) refuse(given + "; padding must be 0 to half the kernel");
        const std::int64_t span = size + 2 * padding - dilation * (kernel - 1) - 1;
        if (span < 0) refuse(given + " does not fit an input of " + std::to_string(size));
        return span / stride + 1;
    }
};

void max_pool_tiles(const float* input, const Dims& shape, std::int64_t high, std::int64_t wide, float* output) {
    const std::int64_t channels = shape[1], width = shape[3];
    const std::int64_t out_height = shape[2] / high, out_width = width / wide;
    parallel_for(shape[0] * out_height, grain_for(high * width * channels), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t sample = i / out_height, row = i % out_height;
            LEAF(max_pool_tile_row)(input + (sample * shape[2] + row * high) * width * channels, width, channels, high, wide,
                              out_width, output + i * out_width * channels);
        }
    });
}

namespace {

// Calls `run(from, row, to)` for each row of the output: where its image begins in the input, which of the image's rows
// it is, and where it lies in the output. `share` says how many values cost as much as one float.
template <class Run>
void for_rows(const Windows& windows, std::int64_t share, const Run& run) {
    if (!count_of(windows.output)) return;
    const std::int64_t height = windows.output[2], out_row = windows.output[3] * windows.output[1];
    const std::int64_t image = windows.input[1] * windows.input[2] * windows.input[3];
    parallel_for(windows.output[0] * height, grain_for(image / height / share), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) run(i / height * image, i % height, i * out_row);
    });
}

template <typename T>
nb::object max_pool2d(const Input<T>& x, Pair kernel, Pair stride, Pair padding, Pair dilation) {
    const Windows windows(shape_of(x), kernel, stride, padding, dilation);
    auto values = Output<T>::channels_last(windows.output);
    auto indices = Output<std::int64_t>::channels_last(windows.output);
    {
        KernelScope scope;
        const auto input = channels_last(x);
        const PoolPlane plane = windows.plane();
        for_rows(windows, 1, [&](std::int64_t from, std::int64_t row, std::int64_t to) {
            LEAF(max_pool_row<T, std::int64_t>)(input.data() + from, plane, row, values.data() + to, indices.data() + to);
        });
    }
    return nb::make_tuple(values.to_python(), indices.to_python());
}

nb::object quantized_max_pool2d(const Input<std::uint8_t>& x, Pair kernel, Pair stride, Pair padding, Pair dilation) {
    auto values = Output<std::uint8_t>::channels_last(max_pool_sizes(shape_of(x), kernel, stride, padding, dilation));
    {
        KernelScope scope;
        max_pool_codes(channels_last(x).data(), shape_of(x), kernel, stride, padding, dilation, values.data());
    }
    return values.to_python();
}

// Where gradients of one sample are added up: in the result, or in floats beside it that are rounded in the end.
template <typename T>
struct Sums {
    Buffer<float> own;
    explicit Sums(std::int64_t count) {
        if constexpr (!std::is_same_v<T, float>) own = Buffer<float>(count);
    }
    float* zeros(T* to, std::int64_t count) {
        float* sums = nullptr;
        if constexpr (std::is_same_v<T, float>)
            sums = to;
        else
            sums = own.data();
        std::fill_n(sums, count, 0.f);
        return sums;
    }
    void keep([[maybe_unused]] T* to, [[maybe_unused]] std::int64_t count) const {
        if constexpr (!std::is_same_v<T, float>) LEAF(stored)(own.data(), count, to);
    }
};

template <typename T>
nb::object max_pool2d_gradient(const Input<T>& gradient, const Input<std::int64_t>& indices,
                               const Dims& input_shape) {
    const Dims shape = shape_of(gradient);
    if (input_shape.size() != 4 || shape.size() != 4 || shape[0] != input_shape[0] || shape[1] != input_shape[1])
        refuse("max_pool2d gradient has shape " + text(shape) + ", which no pooling of " + text(input_shape) + " gives");
    if (shape_of(indices) != shape)
        refuse("max_pool2d indices have shape " + text(shape_of(indices)) + "; expected the gradient's " + text(shape));
    auto out = Output<T>::channels_last(input_shape);
    std::atomic<bool> outside{false};
    {
        KernelScope scope;
        const auto gradients = channels_last(gradient);
        const auto places = channels_last(indices);
        const std::int64_t channels = shape[1], height = input_shape[2], width = input_shape[3];
        const std::int64_t plane = height * width, pixels = shape[2] * shape[3];
        const bool tiles = pixels > 0 && shape[2] <= height && shape[3] <= width &&
                           plane < std::numeric_limits<int>::max();
        parallel_for(shape[0], grain_for(plane * channels), [&](std::int64_t begin, std::int64_t end) {
            Sums<T> sums(plane * channels);
            for (std::int64_t n = begin; n < end; ++n) {
                const T* from = gradients.data() + n * pixels * channels;
                const std::int64_t* where = places.data() + n * pixels * channels;
                T* whole = out.data() + n * plane * channels;
                if (tiles && LEAF(max_pool_tile_gradient<T, std::int64_t>)(from, where, height, width, channels, shape[2], shape[3], whole))
                    continue;
                float* to = sums.zeros(whole, plane * channels);
                for (std::int64_t i = 0; i < pixels; ++i)
                    for (std::int64_t c = 0; c < channels; ++c) {
                        const std::int64_t place = where[i * channels + c];
                        if (place < 0 || place >= plane)
                            outside = true;
                        else
                            to[place * channels + c] += from[i * channels + c];
                    }
                sums.keep(whole, plane * channels);
            }
        });
    }
    if (outside)
        refuse("max_pool2d indices point outside the input's plane of " + std::to_string(input_shape[2]) + " x " +
               std::to_string(input_shape[3]));
    return out.to_python();
}

template <typename T>
nb::object avg_pool2d(const Input<T>& x, Pair kernel, Pair stride, Pair padding, bool count_include_pad) {
    const Windows windows(shape_of(x), kernel, stride, padding, {1, 1});
    auto values = Output<T>::channels_last(windows.output);
    {
        KernelScope scope;
        const auto input = channels_last(x);
        const PoolPlane plane = windows.plane();
        for_rows(windows, 1, [&](std::int64_t from, std::int64_t row, std::int64_t to) {
            LEAF(average_pool_row<T>)(input.data() + from, plane, row, count_include_pad, values.data() + to);
        });
    }
    return values.to_python();
}

template <typename T>
nb::object avg_pool2d_gradient(const Input<T>& gradient, const Dims& input_shape, Pair kernel, Pair stride,
                               Pair padding, bool count_include_pad) {
    const Windows windows(input_shape, kernel, stride, padding, {1, 1});
    if (shape_of(gradient) != windows.output)
        refuse("avg_pool2d gradient has shape " + text(shape_of(gradient)) + "; expected " + text(windows.output));
    auto out = Output<T>::channels_last(input_shape);
    {
        KernelScope scope;
        const auto gradients = channels_last(gradient);
        const PoolPlane plane = windows.plane();
        const std::int64_t image = input_shape[1] * input_shape[2] * input_shape[3];
        const std::int64_t out_row = windows.output[3] * windows.output[1];
        parallel_for(input_shape[0], grain_for(image), [&](std::int64_t begin, std::int64_t end) {
            Sums<T> sums(image);
            for (std::int64_t n = begin; n < end; ++n) {
                float* to = sums.zeros(out.data() + n * image, image);
                for (std::int64_t row = 0; row < windows.output[2]; ++row)
                    LEAF(average_pool_gradient_row<T>)(gradients.data() + (n * windows.output[2] + row) * out_row, plane, row,
                                                       count_include_pad, to);
                sums.keep(out.data() + n * image, image);
            }
        });
    }
    return out.to_python();
}

template <typename T>
void bind_alike(nb::module_& module) {
    using nb::arg;
    module.def("max_pool2d", &max_pool2d<T>, arg("x").noconvert(), nb::kw_only(), arg("kernel"), arg("stride"),
               arg("padding"), arg("dilation"));
    module.def("max_pool2d_gradient", &max_pool2d_gradient<T>, arg("gradient").noconvert(), arg("indices").noconvert(),
               nb::kw_only(), arg("input_shape"));
    module.def("avg_pool2d", &avg_pool2d<T>, arg("x").noconvert(), nb::kw_only(), arg("kernel"), arg("stride"),
               arg("padding"), arg("count_include_pad") = true);
    module.def("avg_pool2d_gradient", &avg_pool2d_gradient<T>, arg("gradient").noconvert(), nb::kw_only(),
               arg("input_shape"), arg("kernel"), arg("stride"), arg("padding"), arg("count_include_pad") = true);
}

}  // namespace

Dims max_pool_sizes(const Dims& shape, Pair kernel, Pair stride, Pair padding, Pair dilation) {
    return Windows(shape, kernel, stride, padding, dilation).output;
}

void max_pool_codes(const std::uint8_t* input, const Dims& shape, Pair kernel, Pair stride, Pair padding, Pair dilation,
                    std::uint8_t* output) {
    const Windows windows(shape, kernel, stride, padding, dilation);
    const PoolPlane plane = windows.plane();
    for_rows(windows, 4, [&](std::int64_t from, std::int64_t row, std::int64_t to) {
        LEAF(max_pool_bytes_row)(input + from, plane, row, output + to);
    });
}

void bind_pooling(nb::module_& module) {
    using nb::arg;
    bind_alike<float>(module);
    nb::module_ half = bfloat16_module(module);
    bind_alike<bfloat16>(half);
    module.def("quantized_max_pool2d", &quantized_max_pool2d, arg("x").noconvert(), nb::kw_only(), arg("kernel"),
               arg("stride"), arg("padding"), arg("dilation"));
}

}  // namespace workbench
