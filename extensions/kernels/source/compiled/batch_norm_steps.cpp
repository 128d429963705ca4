// Batch normalisation by the statistics of a batch, and its gradient, on values as they lie: with all channels of a place beside
// each other, or a block of them. Means, deviations and factors are computed as the eager kernel does it.
#include <cmath>

#include "steps.hpp"

#define WORKBENCH_LEAVES "leaves/normalization.inl"
#define WORKBENCH_LEAVES_WIDE
#include "../dispatch.hpp"

namespace workbench::compiled {
namespace {

// Rows of channels: so many blocks of channels, each in strips of rows that lie beside each other.
struct Strips {
    std::int64_t blocks, block_step, strips, strip_step, rows, channels;

    explicit Strips(const Images& images) {
        // Of planes of one place all channels lie beside each other, in blocks or not.
        const bool one = images.blocks == 1 || images.high * images.wide == 1;
        blocks = one ? 1 : images.blocks, block_step = images.values();
        strips = one ? 1 : images.count, strip_step = images.blocks * images.values();
        rows = images.high * images.wide * (one ? images.count : 1), channels = one ? images.blocks * images.channels : images.channels;
    }
    std::int64_t count() const { return strips * rows; }
    std::int64_t all_channels() const { return blocks * channels; }
    // Pieces of strips that stay in the first cache, a task for each block and part.
    std::int64_t piece() const { return std::max<std::int64_t>(1, 4096 / channels); }
    std::int64_t parts() const {
        return blocks > 1 ? 1 : fixed_part_count(rows, grain_for(channels));
    }
};

// Calls body(block, part, first value, rows) for pieces of a block's rows. Parts do not depend on the number of threads.
template <typename Body>
void over_pieces(const Strips& size, Body&& body) {
    const std::int64_t parts = size.parts();
    parallel_for(size.blocks * parts, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t task = begin; task < end; ++task) {
            const std::int64_t block = task / parts, part = task % parts;
            const std::int64_t from = size.rows * part / parts, to = size.rows * (part + 1) / parts;
            for (std::int64_t strip = 0; strip < size.strips; ++strip)
                for (std::int64_t row = from; row < to; row += size.piece())
                    body(block, part, block * size.block_step + strip * size.strip_step + row * size.channels,
                         std::min(size.piece(), to - row));
        }
    });
}

// By rows of all blocks: for what has nothing to add up.
template <typename Body>
void over_rows(const Strips& size, Body&& body) {
    const std::int64_t strips = size.blocks * size.strips;
    parallel_for(strips * size.rows, grain_for(2 * size.channels), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end;) {
            const std::int64_t strip = i / size.rows, row = i % size.rows, many = std::min(size.rows - row, end - i);
            const std::int64_t block = strip % size.blocks;
            body(block, block * size.block_step + strip / size.blocks * size.strip_step + row * size.channels, many);
            i += many;
        }
    });
}

// Adds the moments of `more` rows to those of `count` rows (Chan's formula).
template <typename Real>
void merge_moments(double count, double* mean, double* deviation, double more, const Real* more_mean, const Real* more_deviation,
                   std::int64_t channels) {
    const double all = count + more;
    for (std::int64_t c = 0; c < channels; ++c) {
        const double distance = more_mean[c] - mean[c];
        mean[c] += distance * (more / all);
        deviation[c] += more_deviation[c] + distance * distance * (count * more / all);
    }
}

void moments(const Strips& size, const float* x, double* means, double* deviations) {
    const std::int64_t parts = size.parts(), channels = size.channels;
    const Buffer<double> partial(size.blocks * parts * 2 * channels), counts(size.blocks * parts);
    const Buffer<float> pieces(size.blocks * parts * 2 * channels);
    std::fill_n(partial.data(), size.blocks * parts * 2 * channels, 0.0), std::fill_n(counts.data(), size.blocks * parts, 0.0);
    over_pieces(size, [&](std::int64_t block, std::int64_t part, std::int64_t at, std::int64_t rows) {
        const std::int64_t task = block * parts + part;
        float* piece = pieces.data() + task * 2 * channels;
        double* mine = partial.data() + task * 2 * channels;
        LEAF_WIDE(block_moments<float>)(x + at, rows, channels, piece, piece + channels);
        merge_moments(counts.data()[task], mine, mine + channels, static_cast<double>(rows), piece, piece + channels, channels);
        counts.data()[task] += static_cast<double>(rows);
    });
    std::fill_n(means, size.all_channels(), 0.0), std::fill_n(deviations, size.all_channels(), 0.0);
    for (std::int64_t block = 0; block < size.blocks; ++block) {
        double seen = 0;
        for (std::int64_t part = 0; part < parts; ++part) {
            const std::int64_t task = block * parts + part;
            const double* other = partial.data() + task * 2 * channels;
            if (counts.data()[task] > 0)
                merge_moments(seen, means + block * channels, deviations + block * channels, counts.data()[task], other, other + channels,
                              channels);
            seen += counts.data()[task];
        }
    }
}

// The eager kernels have another way for channels that deviate by too much, or by nothing at all.
void expect_in_range(double inverse) {
    if (!(inverse > 1e-15 && std::isfinite(inverse))) throw OutOfRange();
}

void normalise(const Strips& size, const float* x, const float* weight, const float* bias, double eps, bool relu, float* y, float* mean,
               float* rstd) {
    const std::int64_t channels = size.all_channels();
    const Buffer<double> found(2 * channels);
    const Buffer<float> scale(channels);
    moments(size, x, found.data(), found.data() + channels);
    for (std::int64_t c = 0; c < channels; ++c) {
        const double inverse = 1.0 / std::sqrt(found.data()[channels + c] / static_cast<double>(size.count()) + eps);
        expect_in_range(inverse);
        mean[c] = static_cast<float>(found.data()[c]), rstd[c] = static_cast<float>(inverse);
        scale.data()[c] = static_cast<float>(weight[c] * inverse);
    }
    over_rows(size, [&](std::int64_t block, std::int64_t at, std::int64_t rows) {
        const std::int64_t c = block * size.channels;
        LEAF_WIDE(scale_shift_rows<float>)(x + at, rows, size.channels, mean + c, scale.data() + c, bias + c, relu, y + at);
    });
}

void normalise_gradient(const Strips& size, const float* g, const float* x, const float* mean, const float* rstd, const float* weight,
                        float* gx, float* gw, float* gb) {
    const std::int64_t parts = size.parts(), channels = size.channels, whole = size.all_channels();
    const Buffer<double> totals(size.blocks * parts * 2 * channels);
    const Buffer<float> pieces(size.blocks * parts * 2 * channels), factors(3 * whole);
    std::fill_n(totals.data(), size.blocks * parts * 2 * channels, 0.0);
    over_pieces(size, [&](std::int64_t block, std::int64_t part, std::int64_t at, std::int64_t rows) {
        float* piece = pieces.data() + (block * parts + part) * 2 * channels;
        double* mine = totals.data() + (block * parts + part) * 2 * channels;
        std::fill_n(piece, 2 * channels, 0.f);
        LEAF_WIDE(gradient_sums<float>)(g + at, x + at, rows, channels, mean + block * channels, piece, piece + channels);
        for (std::int64_t c = 0; c < 2 * channels; ++c) mine[c] += piece[c];
    });
    const double count = static_cast<double>(size.count());
    for (std::int64_t c = 0; c < whole; ++c) {
        double sum = 0, product = 0;
        for (std::int64_t part = 0; part < parts; ++part) {
            const double* one = totals.data() + (c / channels * parts + part) * 2 * channels + c % channels;
            sum += one[0], product += one[channels];
        }
        gb[c] = static_cast<float>(sum), gw[c] = static_cast<float>(product * rstd[c]);
        expect_in_range(rstd[c]);
        // gx = w r (g - sum/n - (x - m) r^2 product/n)
        const double outer = static_cast<double>(weight[c]) * rstd[c];
        factors.data()[c] = static_cast<float>(outer);
        factors.data()[whole + c] = static_cast<float>(-outer * rstd[c] * rstd[c] * product / count);
        factors.data()[2 * whole + c] = static_cast<float>(-outer * sum / count);
    }
    over_rows(size, [&](std::int64_t block, std::int64_t at, std::int64_t rows) {
        const std::int64_t c = block * channels;
        LEAF_WIDE(combine_rows<float>)(g + at, x + at, rows, channels, mean + c, factors.data() + c, factors.data() + whole + c,
                                       factors.data() + 2 * whole + c, gx + at);
    });
}

}  // namespace

// Channels beside each other, however many dims there are: two, as after a layer, or planes.
int Program::in_rows(int x) {
    const std::size_t rank = shape(x).size();
    if (rank != 2 && rank != 4) refuse("a compiled batch norm has [N, C] or [N, C, H, W], not " + text(shape(x)));
    return rank == 2 ? plain(x) : in_images(x);
}

Images Program::rows_of(int x) const {
    const Dims sizes = shape(x);
    return sizes.size() == 2 ? Images{sizes[0], 1, 1, 1, sizes[1]} : images_of(x);
}

void Program::expect_channels(std::initializer_list<int> slots, std::int64_t channels) const {
    for (const int one : slots)
        if (shape(one) != Dims{channels}) refuse("a batch norm of " + std::to_string(channels) + " channels was given " + text(shape(one)));
}

std::vector<int> Program::batch_norm(int x, int weight, int bias, double eps, bool relu) {
    x = in_rows(x), weight = plain(weight), bias = plain(bias);
    const Dims sizes = shape(x);
    expect_channels({weight, bias}, sizes[1]);
    if (count_of(sizes) == 0) refuse("a batch norm of " + text(sizes) + " has no mean");
    const Strips size(rows_of(x));
    const int y = add_slot(at(x).layout, true), mean = add_plain({sizes[1]}), rstd = add_plain({sizes[1]});
    add_loop("batch norm own", {x, weight, bias, y, mean, rstd}, thread_count(), [=](void* const* at) {
        const auto in = [&](int i) { return static_cast<const float*>(at[i]); };
        const auto out = [&](int i) { return static_cast<float*>(at[i]); };
        normalise(size, in(0), in(1), in(2), eps, relu, out(3), out(4), out(5));
    });
    return {y, mean, rstd};
}

std::vector<int> Program::batch_norm_gradient(int gradient, int x, int mean, int rstd, int weight) {
    x = in_rows(x), gradient = laid(gradient, at(x).layout), mean = plain(mean), rstd = plain(rstd), weight = plain(weight);
    const Dims sizes = shape(x);
    expect_channels({mean, rstd, weight}, sizes[1]);
    if (count_of(sizes) == 0) refuse("a batch norm of " + text(sizes) + " has no mean");
    const Strips size(rows_of(x));
    const int gx = add_slot(at(x).layout, true), gw = add_plain({sizes[1]}), gb = add_plain({sizes[1]});
    add_loop("batch norm's gradient own", {gradient, x, mean, rstd, weight, gx, gw, gb}, thread_count(), [=](void* const* at) {
        const auto in = [&](int i) { return static_cast<const float*>(at[i]); };
        const auto out = [&](int i) { return static_cast<float*>(at[i]); };
        normalise_gradient(size, in(0), in(1), in(2), in(3), in(4), out(5), out(6), out(7));
    });
    return {gx, gw, gb};
}

// Running statistics moved towards those of a batch of `count` values a channel, the variance unbiased.
std::vector<int> Program::running_statistics(int mean, int variance, int batch_mean, int batch_rstd, std::int64_t count, double eps,
                                             double momentum) {
    if (shape(mean).size() != 1) refuse("running statistics of " + text(shape(mean)) + " are not one for each channel");
    if (count < 2) refuse("an unbiased variance takes more than " + std::to_string(count) + " values a channel");
    const std::int64_t channels = shape(mean)[0];
    expect_channels({mean, variance, batch_mean, batch_rstd}, channels);
    const int new_mean = add_plain({channels}), new_variance = add_plain({channels});
    const double unbiased = static_cast<double>(count) / static_cast<double>(count - 1);
    add_loop("running statistics own", {plain(mean), plain(variance), plain(batch_mean), plain(batch_rstd), new_mean, new_variance}, 1,
             [=](void* const* at) {
                 const auto in = [&](int i, std::int64_t c) { return static_cast<double>(static_cast<const float*>(at[i])[c]); };
                 for (std::int64_t c = 0; c < channels; ++c) {
                     const double inverse = in(3, c), spread = (1.0 / (inverse * inverse) - eps) * unbiased;
                     static_cast<float*>(at[4])[c] = static_cast<float>((1.0 - momentum) * in(0, c) + momentum * in(2, c));
                     static_cast<float*>(at[5])[c] =
                         static_cast<float>((1.0 - momentum) * in(1, c) + momentum * (spread < 0.0 ? 0.0 : spread));
                 }
             });
    return {new_mean, new_variance};
}

}  // namespace workbench::compiled
