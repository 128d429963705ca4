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
        LEAF_WIDE(block_moments<float>)(x + row * size.channels, rows, size.channels, block, block + size.channels);
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

// What the forward pass reads and writes: one element of `means` and `rstds` for each group of each sample.
struct Forward {
    const Groups& size;
    const float *x, *gain, *offset;
    double eps;
    float *y, *means, *rstds;

    float scale(std::int64_t c, double inverse) const { return static_cast<float>(gain ? gain[c] * inverse : inverse); }
    float shift(std::int64_t c) const { return offset ? offset[c] : 0.f; }
    double keep(std::int64_t group, double mean, double variance) const {
        const double inverse = 1.0 / std::sqrt(variance + eps);
        means[group] = static_cast<float>(mean), rstds[group] = static_cast<float>(inverse);
        return inverse;
    }
    // Channel after channel: the groups of all samples are shared out.
    void runs() const {
        const std::int64_t places = size.places, run = size.width * places;
        parallel_for(size.samples * size.groups, grain_for(run * 2), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t group = begin; group < end; ++group) {
                const float* from = x + group * run;
                double mean, variance;
                LEAF_WIDE(group_moments<float>)(from, run, &mean, &variance);
                const double inverse = keep(group, mean, variance);
                for (std::int64_t i = 0; i < size.width; ++i) {
                    const std::int64_t c = group % size.groups * size.width + i;
                    LEAF_WIDE(scale_shift_run<float>)(from + i * places, places, means[group], scale(c, inverse), shift(c), false,
                                               y + group * run + i * places);
                }
            }
        });
    }
    // Channels-last: the samples are.
    void rows() const {
        const std::int64_t channels = size.channels;
        parallel_for(size.samples, grain_for(size.sample() * 2), [&](std::int64_t begin, std::int64_t end) {
            const Buffer<double> work(2 * channels + 2 * size.groups);
            const Buffer<float> factors(3 * channels);
            double *mean = work.data() + 2 * channels, *variance = mean + size.groups;
            float *centres = factors.data(), *scales = centres + channels, *shifts = scales + channels;
            for (std::int64_t n = begin; n < end; ++n) {
                const float* from = x + n * size.sample();
                moments_across(from, size, work.data(), factors.data(), mean, variance);
                for (std::int64_t g = 0; g < size.groups; ++g) {
                    const double inverse = keep(n * size.groups + g, mean[g], variance[g]);
                    for (std::int64_t c = g * size.width; c < (g + 1) * size.width; ++c)
                        centres[c] = means[n * size.groups + g], scales[c] = scale(c, inverse), shifts[c] = shift(c);
                }
                LEAF_WIDE(scale_shift_rows<float>)(from, size.places, channels, centres, scales, shifts, false, y + n * size.sample());
            }
        });
    }
};

nb::object group_norm(const Input<float>& x, const Optional& weight, const Optional& bias, std::int64_t groups, double eps) {
    const Groups size(x, groups);
    const auto gain = per_channel(weight, size, "weight"), offset = per_channel(bias, size, "bias");
    Output<float> y(size.shape, size.order);
    auto means = Output<float>::row_major({size.samples, groups}), rstds = Output<float>::row_major({size.samples, groups});
    {
        KernelScope scope;
        const Dense<float> input(x, size.order);
        const Forward forward{size, input.data(), gain ? gain->data() : nullptr, offset ? offset->data() : nullptr,
                              eps,  y.data(),     means.data(),                  rstds.data()};
        if (size.channels_last)
            forward.rows();
        else
            forward.runs();
    }
    return nb::make_tuple(y.to_python(), means.to_python(), rstds.to_python());
}

// What the backward pass reads and writes. Sums over the places of a channel, of g and of g (x - m), are doubles.
struct Backward {
    const Groups& size;
    const float *g, *x, *means, *rstds, *gain;
    float* gx;

    double factor(std::int64_t c) const { return gain ? gain[c] : 1.0; }
    // gx = r (w g - E[w g] - (x - m) r^2 E[w g (x - m)]) = outer g + slope (x - m) + shift
    struct Line {
        double inverse;
        float slope, shift;
    };
    Line line(std::int64_t first, double inverse, const double* sum, const double* product) const {
        double weighed = 0, along = 0;
        for (std::int64_t i = 0; i < size.width; ++i)
            weighed += factor(first + i) * sum[i], along += factor(first + i) * product[i];
        return {inverse, static_cast<float>(-inverse * inverse * inverse * along / size.count()),
                static_cast<float>(-inverse * weighed / size.count())};
    }
    float outer(std::int64_t c, const Line& line) const { return static_cast<float>(factor(c) * line.inverse); }

    // Channel after channel: the groups of all samples are shared out. `totals` is [samples, 2 channels]: products times
    // the reciprocal deviation, and sums.
    void runs(double* totals) const {
        const std::int64_t places = size.places, run = size.width * places;
        parallel_for(size.samples * size.groups, grain_for(run * 2), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t group = begin; group < end; ++group) {
                const std::int64_t first = group % size.groups * size.width;
                double* product = totals + group / size.groups * 2 * size.channels + first;
                double* sum = product + size.channels;
                const float *flow = g + group * run, *from = x + group * run, centre = means[group];
                for (std::int64_t i = 0; i < size.width; ++i)
                    LEAF_WIDE(gradient_sums_run<float>)(flow + i * places, from + i * places, places, centre, sum + i, product + i);
                const Line found = line(first, rstds[group], sum, product);
                for (std::int64_t i = 0; i < size.width; ++i) {
                    product[i] *= found.inverse;
                    LEAF_WIDE(combine_run<float>)(flow + i * places, from + i * places, places, centre, outer(first + i, found),
                                           found.slope, found.shift, gx + group * run + i * places);
                }
            }
        });
    }
    // Channels-last: `parts` of the samples are, and `totals` is [parts, 2 channels].
    void rows(std::int64_t parts, double* totals) const {
        const std::int64_t channels = size.channels;
        std::fill_n(totals, parts * 2 * channels, 0.0);
        parallel_parts(size.samples, parts, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
            const Buffer<double> sums(2 * channels);
            const Buffer<float> work(6 * channels);
            double *all = totals + part * 2 * channels, *sum = sums.data(), *product = sum + channels;
            float *centres = work.data(), *a = centres + channels, *b = a + channels, *d = b + channels, *block = d + channels;
            for (std::int64_t n = begin; n < end; ++n) {
                const float *from = x + n * size.sample(), *flow = g + n * size.sample();
                for (std::int64_t group = 0; group < size.groups; ++group)
                    std::fill_n(centres + group * size.width, size.width, means[n * size.groups + group]);
                std::fill_n(sum, 2 * channels, 0.0);
                for (std::int64_t row = 0; row < size.places; row += size.block()) {
                    std::fill_n(block, 2 * channels, 0.f);
                    LEAF_WIDE(gradient_sums<float>)(flow + row * channels, from + row * channels,
                                             std::min(size.block(), size.places - row), channels, centres, block,
                                             block + channels);
                    for (std::int64_t c = 0; c < 2 * channels; ++c) sum[c] += static_cast<double>(block[c]);
                }
                for (std::int64_t first = 0; first < channels; first += size.width) {
                    const Line found = line(first, rstds[n * size.groups + first / size.width], sum + first, product + first);
                    for (std::int64_t c = first; c < first + size.width; ++c) {
                        all[c] += found.inverse * product[c], all[channels + c] += sum[c];
                        a[c] = outer(c, found), b[c] = found.slope, d[c] = found.shift;
                    }
                }
                LEAF_WIDE(combine_rows<float>)(flow, from, size.places, channels, centres, a, b, d, gx + n * size.sample());
            }
        });
    }
};

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
        const Backward backward{size,         gradients.data(), input.data(), means.data(),
                                rstds.data(), gain ? gain->data() : nullptr,  gx.data()};
        // Either way who adds up what does not depend on the number of threads.
        const std::int64_t parts =
            size.channels_last ? fixed_part_count(size.samples, grain_for(size.sample() * 2)) : size.samples;
        const Buffer<double> totals(parts * 2 * channels);
        if (size.channels_last)
            backward.rows(parts, totals.data());
        else
            backward.runs(totals.data());
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
