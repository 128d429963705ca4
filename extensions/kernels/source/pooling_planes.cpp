// Pooling to the largest value over one to three dims of planes that lie row by row: what `pooling` does for channels that lie side
// by side, without turning the planes.
#include "pooling_planes.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>

#include "threads.hpp"

namespace workbench {
namespace {

using Three = std::array<std::int64_t, 3>;

// Planes of up to three dims; those that are not there have one place.
struct PoolVolume {
    Three size, output, kernel, stride, padding, dilation;
    const float* input;
    std::int64_t readable;  // planes that eight windows may be read of at once, also where a row has less
    float* room;            // for others, and for padded rows: with -inf at both ends of each and behind the last
    const float* padded;
    std::int64_t padded_width;
    const std::int32_t* first_columns;  // the first tap inside, for each column of the output
    float* values;
    std::int64_t* indices;
};

// The taps that lie inside along depth and height: first, first + dilation, … below the end.
struct PoolLine {
    std::array<std::int64_t, 2> first, end;
};

}  // namespace
}  // namespace workbench

#define WORKBENCH_LEAVES "leaves/pooling_planes.inl"
#include "dispatch.hpp"

namespace workbench {
namespace {

Three three(const Dims& given, std::int64_t missing, std::size_t n) {
    if (given.size() != n) refuse("pooling over " + std::to_string(n) + " dims was given " + text(given));
    Three all;
    for (std::size_t i = 0; i < 3; ++i) all[i] = i + n < 3 ? missing : given[i + n - 3];
    return all;
}

std::int64_t first_inside(std::int64_t from, std::int64_t gap) { return from < 0 ? from + (-from + gap - 1) / gap * gap : from; }

std::int64_t places_of(const Three& size) { return count_of({size[0], size[1], size[2]}); }

void check_plane(const Three& size, const Dims& shape) {
    if (places_of(size) > std::numeric_limits<int>::max()) refuse("pooling input " + text(shape) + " has planes of more than 2^31 elements");
}

PoolVolume volume(const Dims& shape, const Dims& kernel, const Dims& stride, const Dims& padding, const Dims& dilation) {
    if (shape.size() < 3 || shape.size() > 5) refuse("pooling input has shape " + text(shape) + "; expected [N, C] and one to three dims");
    const std::size_t n = shape.size() - 2;
    PoolVolume v{};
    v.size = three(Dims(shape.begin() + 2, shape.end()), 1, n), v.kernel = three(kernel, 1, n), v.stride = three(stride, 1, n);
    v.padding = three(padding, 0, n), v.dilation = three(dilation, 1, n);
    count_of(shape), check_plane(v.size, shape);
    constexpr std::int64_t most = std::int64_t{1} << 20;
    for (std::size_t i = 0; i < 3; ++i) {
        const std::int64_t reach = v.dilation[i] * (v.kernel[i] - 1) + 1;
        const std::string given = "pooling: kernel " + std::to_string(v.kernel[i]) + ", stride " + std::to_string(v.stride[i]) + ", padding " +
                                  std::to_string(v.padding[i]) + ", dilation " + std::to_string(v.dilation[i]);
        if (std::min({v.kernel[i], v.stride[i], v.dilation[i]}) < 1 || std::max({v.kernel[i], v.stride[i], v.dilation[i]}) > most)
            refuse(given + "; kernel, stride and dilation must be 1 to 2^20");
        // So much padding that a window may lie outside altogether has no largest value.
        if (v.padding[i] < 0 || 2 * v.padding[i] > reach) refuse(given + "; padding must be 0 to half of what the kernel covers");
        const std::int64_t span = v.size[i] + 2 * v.padding[i] - reach;
        if (span < 0) refuse(given + " does not fit an input of " + std::to_string(v.size[i]));
        v.output[i] = span / v.stride[i] + 1;
    }
    return v;
}

Dims shape_with(const Dims& shape, const Three& size) {
    Dims result = shape;
    for (std::size_t i = 2; i < shape.size(); ++i) result[i] = size[i + 3 - shape.size()];
    return result;
}

nb::object max_pool_planes(const Input<float>& x, const Dims& kernel, const Dims& stride, const Dims& padding, const Dims& dilation) {
    const Dims shape = shape_of(x);
    PoolVolume v = volume(shape, kernel, stride, padding, dilation);
    auto values = Output<float>::row_major(shape_with(shape, v.output));
    auto indices = Output<std::int64_t>::row_major(values.shape());
    const std::int64_t made = places_of(v.output), seen = places_of(v.size), planes = shape[0] * shape[1], rows = v.size[0] * v.size[1];
    if (made && seen && planes) {
        KernelScope scope;
        const auto input = row_major(x);
        v.padded_width = v.size[2] + 2 * v.padding[2], v.input = input.data(), v.values = values.data(), v.indices = indices.data();
        const std::int64_t slack = 8 * v.stride[2] + 16 + v.kernel[2] * v.dilation[2];
        v.readable = planes - (slack + seen - 1) / seen;
        const std::int64_t columns = (v.output[2] + 7) / 8 * 8;
        const Buffer<std::int32_t> first(columns);
        for (std::int64_t i = 0; i < columns; ++i)
            first.data()[i] = static_cast<std::int32_t>(first_inside(std::min(i, v.output[2] - 1) * v.stride[2] - v.padding[2], v.dilation[2]));
        v.first_columns = first.data();
        parallel_for(planes, grain_for(seen + made * v.kernel[0] * v.kernel[1] * v.kernel[2] / 8), [&](std::int64_t begin, std::int64_t end) {
            const Buffer<float> room(rows * v.padded_width + slack);
            std::fill_n(room.data(), rows * v.padded_width + slack, -std::numeric_limits<float>::infinity());
            PoolVolume own = v;
            own.room = room.data();
            LEAF(max_pool_planes)(own, begin, end);
        });
    }
    return nb::make_tuple(values.to_python(), indices.to_python());
}

nb::object max_pool_planes_gradient(const Input<float>& gradient, const Input<std::int64_t>& indices, const Dims& input_shape) {
    const Dims shape = shape_of(gradient);
    if (input_shape.size() < 3 || shape.size() != input_shape.size() || shape[0] != input_shape[0] || shape[1] != input_shape[1])
        refuse("pooling gradient has shape " + text(shape) + ", which no pooling of " + text(input_shape) + " gives");
    if (shape_of(indices) != shape)
        refuse("pooling indices have shape " + text(shape_of(indices)) + "; expected the gradient's " + text(shape));
    auto out = Output<float>::row_major(input_shape);
    const std::int64_t planes = shape[0] * shape[1], made = count_of(Dims(shape.begin() + 2, shape.end()));
    const std::int64_t seen = count_of(Dims(input_shape.begin() + 2, input_shape.end()));
    std::atomic<bool> outside{false};
    {
        KernelScope scope;
        const auto gradients = row_major(gradient);
        const auto places = row_major(indices);
        parallel_for(planes, grain_for(seen + 4 * made), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t plane = begin; plane < end; ++plane) {
                const float* from = gradients.data() + plane * made;
                const std::int64_t* where = places.data() + plane * made;
                float* to = out.data() + plane * seen;
                std::fill_n(to, seen, 0.f);
                for (std::int64_t i = 0; i < made; ++i) {
                    if (where[i] < 0 || where[i] >= seen)
                        outside = true;
                    else
                        to[where[i]] += from[i];
                }
            }
        });
    }
    if (outside) refuse("pooling indices point outside the input's planes " + text(input_shape));
    return out.to_python();
}

}  // namespace

void bind_pooling_planes(nb::module_& module) {
    using nb::arg;
    module.def("max_pool_planes", &max_pool_planes, arg("x").noconvert(), nb::kw_only(), arg("kernel"), arg("stride"), arg("padding"),
               arg("dilation"));
    module.def("max_pool_planes_gradient", &max_pool_planes_gradient, arg("gradient").noconvert(), arg("indices").noconvert(),
               nb::kw_only(), arg("input_shape"));
}

}  // namespace workbench
