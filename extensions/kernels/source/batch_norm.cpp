// Batch normalisation over the channel axis: rows of C floats, so that every loop runs along channels. What lies channel
// after channel stays there: see batch_norm_channels_first.hpp.
#include "batch_norm.hpp"

#include <cmath>

#define WORKBENCH_LEAVES "leaves/normalization.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "batch_norm_channels_first.hpp"
#include "threads.hpp"

namespace workbench {

namespace {

struct Rows {
    std::int64_t rows, channels;
    explicit Rows(const Dims& shape) {
        if (shape.size() < 2 || shape.size() > 5)
            refuse("batch_norm input has shape " + text(shape) + "; expected [N, C] with up to three more dimensions");
        channels = shape[1];
        rows = channels ? count_of(shape) / channels : 0;
    }
    // Blocks of about 16 KiB.
    std::int64_t block() const { return std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(1, channels)); }
};

const float* channel_vector(const Input<float>& values, std::int64_t channels, const char* name, Buffer<float>& copy) {
    const Dims shape = shape_of(values);
    if (shape != Dims{channels})
        refuse(std::string("batch_norm ") + name + " has shape " + text(shape) + "; expected [" +
               std::to_string(channels) + "]");
    if (channels < 2 || values.stride(0) == 1) return values.data();
    copy = Buffer<float>(channels);
    copy_strided(copy.data(), {1}, values.data(), shape, strides_of(values));
    return copy.data();
}

// Adds the moments of `more` rows to those of `count` rows (Chan's formula).
template <typename Real>
void merge_moments(double count, double* mean, double* deviation, double more, const Real* more_mean,
                   const Real* more_deviation, std::int64_t channels) {
    const double all = count + more;
    for (std::int64_t c = 0; c < channels; ++c) {
        const double distance = more_mean[c] - mean[c];
        mean[c] += distance * (more / all);
        deviation[c] += more_deviation[c] + distance * distance * (count * more / all);
    }
}

// Rows from which another thread is worth waking; in bfloat16 four times as many, as for elementwise ops.
template <typename T>
std::int64_t grain(std::int64_t floats_per_row) {
    return grain_for(floats_per_row) * (sizeof(T) == 2 ? 4 : 1);
}

template <typename T>
void channel_moments(const T* x, const Rows& size, double* mean, double* deviation) {
    const std::int64_t channels = size.channels, parts = part_count(size.rows, grain<T>(channels));
    const Buffer<double> partial(parts * 2 * channels);
    const Buffer<float> blocks(parts * 2 * channels);
    std::fill_n(partial.data(), parts * 2 * channels, 0.0);
    parallel_parts(size.rows, parts, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
        float* block = blocks.data() + part * 2 * channels;
        double* mine = partial.data() + part * 2 * channels;
        for (std::int64_t row = begin; row < end; row += size.block()) {
            const std::int64_t rows = std::min(size.block(), end - row);
            LEAF_WIDE(block_moments<T>)(x + row * channels, rows, channels, block, block + channels);
            merge_moments(static_cast<double>(row - begin), mine, mine + channels, static_cast<double>(rows), block,
                          block + channels, channels);
        }
    });
    std::fill_n(mean, channels, 0.0);
    std::fill_n(deviation, channels, 0.0);
    for (std::int64_t part = 0; part < parts; ++part) {
        const std::int64_t begin = size.rows * part / parts, end = size.rows * (part + 1) / parts;
        const double* other = partial.data() + part * 2 * channels;
        merge_moments(static_cast<double>(begin), mean, deviation, static_cast<double>(end - begin), other,
                      other + channels, channels);
    }
}

template <typename T>
nb::object batch_norm(const Input<T>& x, const Input<float>& weight, const Input<float>& bias, double eps,
                      bool relu) {
    const Dims shape = shape_of(x);
    const Rows size(shape);
    if (size.rows == 0) refuse("batch_norm input " + text(shape) + " is empty: it has no mean");
    const std::int64_t channels = size.channels;
    Buffer<float> weight_copy, bias_copy;
    const float* gain = channel_vector(weight, channels, "weight", weight_copy);
    const float* offset = channel_vector(bias, channels, "bias", bias_copy);
    const bool planes = lies_in_planes(x);
    auto y = planes ? Output<T>::row_major(shape) : Output<T>::channels_last(shape);
    auto mean = Output<float>::row_major({channels}), rstd = Output<float>::row_major({channels});
    if (planes) {
        KernelScope scope;
        normalise_planes(x.data(), Planes(shape), gain, offset, eps, relu, y.data(), mean.data(), rstd.data());
    } else {
        KernelScope scope;
        const auto input = channels_last(x);
        const Buffer<double> moments(2 * channels);
        const Buffer<float> scale(channels);
        channel_moments(input.data(), size, moments.data(), moments.data() + channels);
        for (std::int64_t c = 0; c < channels; ++c) {
            const double variance = moments.data()[channels + c] / static_cast<double>(size.rows);
            const double inverse = 1.0 / std::sqrt(variance + eps);
            mean.data()[c] = static_cast<float>(moments.data()[c]);
            rstd.data()[c] = static_cast<float>(inverse);
            scale.data()[c] = static_cast<float>(gain[c] * inverse);
        }
        parallel_for(size.rows, grain<T>(channels), [&](std::int64_t begin, std::int64_t end) {
            LEAF_WIDE(scale_shift_rows<T>)(input.data() + begin * channels, end - begin, channels, mean.data(),
                                   scale.data(), offset, relu, y.data() + begin * channels);
        });
    }
    return nb::make_tuple(y.to_python(), mean.to_python(), rstd.to_python());
}

template <typename T>
nb::object batch_norm_gradient(const Input<T>& gradient, const Input<T>& x, const Input<float>& mean,
                               const Input<float>& rstd, const Input<float>& weight) {
    const Dims shape = shape_of(x);
    const Rows size(shape);
    if (shape_of(gradient) != shape)
        refuse("batch_norm gradient has shape " + text(shape_of(gradient)) + "; expected " + text(shape));
    if (size.rows == 0) refuse("batch_norm input " + text(shape) + " is empty: it has no mean");
    const std::int64_t channels = size.channels;
    Buffer<float> copies[3];
    const float* gain = channel_vector(weight, channels, "weight", copies[0]);
    const float* centre = channel_vector(mean, channels, "mean", copies[1]);
    const float* inverse = channel_vector(rstd, channels, "rstd", copies[2]);
    const bool planes = lies_in_planes(x);
    auto gx = planes ? Output<T>::row_major(shape) : Output<T>::channels_last(shape);
    auto gain_gradient = Output<float>::row_major({channels}), offset_gradient = Output<float>::row_major({channels});
    if (planes) {
        KernelScope scope;
        const auto gradients = row_major(gradient);
        normalise_planes_gradient(gradients.data(), x.data(), Planes(shape), centre, inverse, gain, gx.data(),
                                  gain_gradient.data(), offset_gradient.data());
    } else {
        KernelScope scope;
        const auto input = channels_last(x);
        const auto gradients = channels_last(gradient);
        const std::int64_t parts = part_count(size.rows, grain<T>(2 * channels));
        const Buffer<double> totals((parts + 1) * 2 * channels);
        const Buffer<float> blocks(parts * 2 * channels);
        std::fill_n(totals.data(), (parts + 1) * 2 * channels, 0.0);
        parallel_parts(size.rows, parts, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
            float* block = blocks.data() + part * 2 * channels;
            double* mine = totals.data() + (part + 1) * 2 * channels;
            for (std::int64_t row = begin; row < end; row += size.block()) {
                std::fill_n(block, 2 * channels, 0.f);
                LEAF_WIDE(gradient_sums<T>)(gradients.data() + row * channels, input.data() + row * channels,
                                    std::min(size.block(), end - row), channels, centre, block, block + channels);
                for (std::int64_t c = 0; c < 2 * channels; ++c) mine[c] += block[c];
            }
        });
        for (std::int64_t i = 2 * channels; i < (parts + 1) * 2 * channels; ++i)
            totals.data()[i % (2 * channels)] += totals.data()[i];
        const Buffer<float> factors(3 * channels);
        for (std::int64_t c = 0; c < channels; ++c) {
            const double sum = totals.data()[c], product = totals.data()[channels + c];
            offset_gradient.data()[c] = static_cast<float>(sum);
            gain_gradient.data()[c] = static_cast<float>(product * inverse[c]);
            // gx = w r (g - sum/n - (x - m) r^2 product/n)
            const double outer = static_cast<double>(gain[c]) * inverse[c];
            const double slope = -outer * inverse[c] * inverse[c] * product / static_cast<double>(size.rows);
            factors.data()[c] = static_cast<float>(outer);
            factors.data()[channels + c] = static_cast<float>(slope);
            factors.data()[2 * channels + c] = static_cast<float>(-outer * sum / static_cast<double>(size.rows));
        }
        parallel_for(size.rows, grain<T>(2 * channels), [&](std::int64_t begin, std::int64_t end) {
            LEAF_WIDE(combine_rows<T>)(gradients.data() + begin * channels, input.data() + begin * channels, end - begin, channels,
                         centre, factors.data(), factors.data() + channels, factors.data() + 2 * channels,
                         gx.data() + begin * channels);
        });
    }
    return nb::make_tuple(gx.to_python(), gain_gradient.to_python(), offset_gradient.to_python());
}

// Moves running statistics in place towards those of a batch of `count` values a channel, the variance unbiased.
void move_statistics(const InPlace<float>& running_mean, const InPlace<float>& running_variance, const Input<float>& mean,
                     const Input<float>& rstd, std::int64_t count, double eps, double momentum) {
    const Dims shape = shape_of(running_mean);
    if (shape.size() != 1 || shape_of(running_variance) != shape || shape_of(mean) != shape || shape_of(rstd) != shape)
        refuse("running statistics of shapes " + text(shape) + " and " + text(shape_of(running_variance)) + " for a mean of " +
               text(shape_of(mean)) + " and deviations of " + text(shape_of(rstd)));
    if (count < 2) refuse("an unbiased variance takes more than " + std::to_string(count) + " values a channel");
    const double unbiased = static_cast<double>(count) / static_cast<double>(count - 1);
    const std::int64_t steps[] = {running_mean.stride(0), running_variance.stride(0), mean.stride(0), rstd.stride(0)};
    for (std::int64_t c = 0; c < shape[0]; ++c) {
        const double inverse = rstd.data()[c * steps[3]], variance = (1.0 / (inverse * inverse) - eps) * unbiased;
        float& centre = running_mean.data()[c * steps[0]];
        float& spread = running_variance.data()[c * steps[1]];
        centre = static_cast<float>((1.0 - momentum) * centre + momentum * mean.data()[c * steps[2]]);
        spread = static_cast<float>((1.0 - momentum) * spread + momentum * (variance < 0.0 ? 0.0 : variance));
    }
}

// y = (x - centre) * scale + shift, channel by channel.
template <typename T>
Output<T> affine(const Input<T>& x, const Rows& size, const float* centre, const float* scale, const float* shift,
                     bool relu) {
    if (lies_in_planes(x)) {
        auto y = Output<T>::row_major(shape_of(x));
        KernelScope scope;
        scale_shift_planes(x.data(), Planes(shape_of(x)), centre, scale, shift, relu, y.data());
        return y;
    }
    auto y = Output<T>::channels_last(shape_of(x));
    KernelScope scope;
    const auto input = channels_last(x);
    parallel_for(size.rows, grain_for(size.channels), [&](std::int64_t begin, std::int64_t end) {
        LEAF_WIDE(scale_shift_rows<T>)(input.data() + begin * size.channels, end - begin, size.channels, centre, scale, shift,
                               relu, y.data() + begin * size.channels);
    });
    return y;
}

template <typename T>
nb::object batch_norm_inference(const Input<T>& x, const Input<float>& mean, const Input<float>& variance,
                                const Input<float>& weight, const Input<float>& bias, double eps, bool relu) {
    const Rows size(shape_of(x));
    Buffer<float> copies[4];
    const float* centre = channel_vector(mean, size.channels, "mean", copies[0]);
    const float* spread = channel_vector(variance, size.channels, "variance", copies[1]);
    const float* gain = channel_vector(weight, size.channels, "weight", copies[2]);
    const float* offset = channel_vector(bias, size.channels, "bias", copies[3]);
    const Buffer<float> scale(size.channels);
    for (std::int64_t c = 0; c < size.channels; ++c)
        scale.data()[c] = static_cast<float>(gain[c] / std::sqrt(static_cast<double>(spread[c]) + eps));
    return affine(x, size, centre, scale.data(), offset, relu).to_python();
}

// Values in `T`; what there is one of for a channel is in floats.
template <typename T>
void bind_alike(nb::module_& module) {
    using nb::arg;
    module.def("batch_norm", &batch_norm<T>, arg("x").noconvert(), arg("weight").noconvert(), arg("bias").noconvert(),
               nb::kw_only(), arg("eps"), arg("relu") = false);
    module.def("batch_norm_gradient", &batch_norm_gradient<T>, arg("gradient").noconvert(), arg("x").noconvert(),
               arg("mean").noconvert(), arg("rstd").noconvert(), arg("weight").noconvert());
    module.def("batch_norm_inference", &batch_norm_inference<T>, arg("x").noconvert(), arg("mean").noconvert(),
               arg("variance").noconvert(), arg("weight").noconvert(), arg("bias").noconvert(), nb::kw_only(),
               arg("eps"), arg("relu") = false);
}

}  // namespace

void bind_normalisation(nb::module_& module) {
    using nb::arg;
    bind_alike<float>(module);
    nb::module_ half = bfloat16_module(module);
    bind_alike<bfloat16>(half);
    module.def("move_statistics", &move_statistics, arg("running_mean").noconvert(), arg("running_variance").noconvert(),
               arg("mean").noconvert(), arg("rstd").noconvert(), arg("count"), arg("eps"), arg("momentum"));
}

}  // namespace workbench
