// Normalisation of each sample over groups of its channels, where they lie: channel after channel, or channels-last.
#include "group_norm.hpp"

#include <cmath>
#include <optional>

#define WORKBENCH_LEAVES "leaves/group_norm.inl"
#define WORKBENCH_LEAVES_WIDE
#pragma GCC diagnostic ignored "-Wunused-function"  // leaves of other files
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

using Optional = std::optional<Input<float>>;

struct Groups {
    Dims shape, order;
    std::int64_t samples, channels, places, groups, width;  // width: channels of a group
    bool channels_last;

    Groups(const Input<float>& x, std::int64_t groups) : shape(shape_of(x)), groups(groups) {
        if (shape.size() < 2 || shape.size() > 8)
            refuse("group_norm input has shape " + text(shape) + "; expected [N, C] with up to six more dimensions");
        samples = shape[0], channels = shape[1];
        if (groups < 1 || channels % groups)
            refuse(std::to_string(channels) + " channels do not make " + std::to_string(groups) + " groups of one size");
        width = channels / groups;
        places = 1;
        for (std::size_t i = 2; i < shape.size(); ++i) places *= shape[i];
        if (count_of(shape) == 0) refuse("group_norm input " + text(shape) + " is empty: it has no mean");
        const Dims last = channels_last_strides(shape), strides = strides_of(x);
        // Short runs of one channel are not worth a loop: then channels are put side by side.
        channels_last = places < 16 || (lies_as(shape, strides, last) && !lies_as(shape, strides, row_major_strides(shape)));
        order = channels_last ? last : row_major_strides(shape);
    }
    std::int64_t sample() const { return channels * places; }
    double count() const { return static_cast<double>(width * places); }
    // Rows of all channels that are added up in floats: about 16 KiB.
    std::int64_t block() const { return std::clamp<std::int64_t>(4096 / channels, 1, 64); }
};

std::optional<Dense<float>> per_channel(const Optional& values, const Groups& size, const char* name) {
    if (!values) return std::nullopt;
    if (shape_of(*values) != Dims{size.channels})
        refuse(std::string("group_norm ") + name + " has shape " + text(shape_of(*values)) + "; expected [" +
               std::to_string(size.channels) + "]");
    return row_major(*values);
}

// Moments of each group of one sample that lies channels-last.
void moments_across(const float* x, const Groups& size, double* work, float* block, double* means, double* variances) {
    double *mean = work, *deviation = work + size.channels;
    std::fill_n(work, 2 * size.channels, 0.0);
    for (std::int64_t row = 0; row < size.places; row += size.block()) {
        const std::int64_t rows = std::min(size.block(), size.places - row);
        LEAF_WIDE(block_moments)(x + row * size.channels, rows, size.channels, block, block + size.channels);
        const double before = static_cast<double>(row), more = static_cast<double>(rows), all = before + more;
        for (std::int64_t c = 0; c < size.channels; ++c) {
            const double distance = block[c] - mean[c];
            mean[c] += distance * (more / all);
            deviation[c] += block[size.channels + c] + distance * distance * (before * more / all);
        }
    }
    for (std::int64_t g = 0; g < size.groups; ++g) {
        double centre = 0, squares = 0;
        for (std::int64_t c = g * size.width; c < (g + 1) * size.width; ++c) centre += mean[c];
        centre /= static_cast<double>(size.width);
        for (std::int64_t c = g * size.width; c < (g + 1) * size.width; ++c) {
            const double distance = mean[c] - centre;
            squares += deviation[c] + distance * distance * static_cast<double>(size.places);
        }
        means[g] = centre, variances[g] = squares / size.count();
    }
}

nb::object group_norm(const Input<float>& x, const Optional& weight, const Optional& bias, std::int64_t groups, double eps) {
    const Groups size(x, groups);
    const auto gain = per_channel(weight, size, "weight"), offset = per_channel(bias, size, "bias");
    Output<float> y(size.shape, size.order);
    auto means = Output<float>::row_major({size.samples, groups}), rstds = Output<float>::row_major({size.samples, groups});
    {
        KernelScope scope;
        const Dense<float> input(x, size.order);
        parallel_for(size.samples, grain_for(size.sample() * 2), [&](std::int64_t begin, std::int64_t end) {
            const Buffer<double> work(2 * size.channels + 2 * groups);
            const Buffer<float> rows(3 * size.channels);
            double *mean = work.data() + 2 * size.channels, *variance = mean + groups;
            for (std::int64_t n = begin; n < end; ++n) {
                const float* from = input.data() + n * size.sample();
                float *to = y.data() + n * size.sample(), *centre = means.data() + n * groups, *rstd = rstds.data() + n * groups;
                if (size.channels_last) moments_across(from, size, work.data(), rows.data(), mean, variance);
                for (std::int64_t g = 0; g < groups; ++g) {
                    const std::int64_t first = g * size.width, run = size.width * size.places;
                    if (!size.channels_last) LEAF_WIDE(group_moments)(from + g * run, run, mean + g, variance + g);
                    const double inverse = 1.0 / std::sqrt(variance[g] + eps);
                    centre[g] = static_cast<float>(mean[g]), rstd[g] = static_cast<float>(inverse);
                    for (std::int64_t c = first; c < first + size.width; ++c) {
                        const float scale = gain ? static_cast<float>(gain->data()[c] * inverse) : rstd[g];
                        const float shift = offset ? offset->data()[c] : 0.f;
                        if (size.channels_last)
                            rows.data()[c] = centre[g], rows.data()[size.channels + c] = scale,
                            rows.data()[2 * size.channels + c] = shift;
                        else
                            LEAF_WIDE(scale_shift_run)(from + c * size.places, size.places, centre[g], scale, shift, false,
                                                       to + c * size.places);
                    }
                }
                if (size.channels_last)
                    LEAF_WIDE(scale_shift_rows)(from, size.places, size.channels, rows.data(), rows.data() + size.channels,
                                                rows.data() + 2 * size.channels, false, to);
            }
        });
    }
    return nb::make_tuple(y.to_python(), means.to_python(), rstds.to_python());
}

nb::object group_norm_gradient(const Input<float>& gradient, const Input<float>& x, const Input<float>& mean,
                               const Input<float>& rstd, const Optional& weight, std::int64_t groups) {
    const Groups size(x, groups);
    if (shape_of(gradient) != size.shape)
        refuse("group_norm gradient has shape " + text(shape_of(gradient)) + "; expected " + text(size.shape));
    const Dims statistic{size.samples, groups};
    if (shape_of(mean) != statistic || shape_of(rstd) != statistic)
        refuse("group_norm statistics have shape " + text(shape_of(mean)) + "; expected " + text(statistic));
    const auto gain = per_channel(weight, size, "weight");
    const std::int64_t channels = size.channels;
    Output<float> gx(size.shape, size.order);
    auto gw = Output<float>::row_major({channels}), gb = Output<float>::row_major({channels});
    {
        KernelScope scope;
        const Dense<float> input(x, size.order), gradients(gradient, size.order);
        const auto means = row_major(mean), rstds = row_major(rstd);
        const std::int64_t parts = part_count(size.samples, grain_for(size.sample() * 2));
        const Buffer<double> totals(parts * 2 * channels);
        std::fill_n(totals.data(), parts * 2 * channels, 0.0);
        parallel_parts(size.samples, parts, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
            const Buffer<double> sums(2 * channels);
            const Buffer<float> rows(4 * channels), block(2 * channels);
            double *all = totals.data() + part * 2 * channels, *sum = sums.data(), *product = sums.data() + channels;
            float *centres = rows.data(), *a = centres + channels, *b = a + channels, *d = b + channels;
            for (std::int64_t n = begin; n < end; ++n) {
                const float *from = input.data() + n * size.sample(), *flow = gradients.data() + n * size.sample();
                const float *centre = means.data() + n * groups, *scale = rstds.data() + n * groups;
                float* to = gx.data() + n * size.sample();
                if (size.channels_last) {
                    for (std::int64_t c = 0; c < channels; ++c) centres[c] = centre[c / size.width];
                    std::fill_n(sum, 2 * channels, 0.0);
                    for (std::int64_t row = 0; row < size.places; row += size.block()) {
                        std::fill_n(block.data(), 2 * channels, 0.f);
                        LEAF_WIDE(gradient_sums)(flow + row * channels, from + row * channels,
                                                 std::min(size.block(), size.places - row), channels, centres, block.data(),
                                                 block.data() + channels);
                        for (std::int64_t c = 0; c < 2 * channels; ++c) sum[c] += static_cast<double>(block.data()[c]);
                    }
                }
                for (std::int64_t g = 0; g < groups; ++g) {
                    const double inverse = scale[g];
                    double weighed = 0, along = 0;
                    for (std::int64_t c = g * size.width; c < (g + 1) * size.width; ++c) {
                        if (!size.channels_last)
                            LEAF_WIDE(gradient_sums_run)(flow + c * size.places, from + c * size.places, size.places, centre[g],
                                                         sum + c, product + c);
                        const double factor = gain ? gain->data()[c] : 1.0;
                        weighed += factor * sum[c], along += factor * product[c];
                        all[c] += inverse * product[c], all[channels + c] += sum[c];
                    }
                    // gx = r (w g - E[w g] - (x - m) r^2 E[w g (x - m)])
                    const float slope = static_cast<float>(-inverse * inverse * inverse * along / size.count());
                    const float shift = static_cast<float>(-inverse * weighed / size.count());
                    for (std::int64_t c = g * size.width; c < (g + 1) * size.width; ++c) {
                        const float outer = static_cast<float>((gain ? gain->data()[c] : 1.0) * inverse);
                        if (size.channels_last)
                            a[c] = outer, b[c] = slope, d[c] = shift;
                        else
                            LEAF_WIDE(combine_run)(flow + c * size.places, from + c * size.places, size.places, centre[g], outer,
                                                   slope, shift, to + c * size.places);
                    }
                }
                if (size.channels_last) LEAF_WIDE(combine_rows)(flow, from, size.places, channels, centres, a, b, d, to);
            }
        });
        for (std::int64_t part = 1; part < parts; ++part)
            for (std::int64_t c = 0; c < 2 * channels; ++c) totals.data()[c] += totals.data()[part * 2 * channels + c];
        for (std::int64_t c = 0; c < channels; ++c) {
            gw.data()[c] = static_cast<float>(totals.data()[c]);
            gb.data()[c] = static_cast<float>(totals.data()[channels + c]);
        }
    }
    return nb::make_tuple(gx.to_python(), gw.to_python(), gb.to_python());
}

}  // namespace

void bind_group_norm(nb::module_& module) {
    using nb::arg;
    module.def("group_norm", &group_norm, arg("x").noconvert(), arg("weight").noconvert().none() = nb::none(),
               arg("bias").noconvert().none() = nb::none(), nb::kw_only(), arg("groups"), arg("eps"));
    module.def("group_norm_gradient", &group_norm_gradient, arg("gradient").noconvert(), arg("x").noconvert(),
               arg("mean").noconvert(), arg("rstd").noconvert(), arg("weight").noconvert().none() = nb::none(), nb::kw_only(),
               arg("groups"));
}

}  // namespace workbench
