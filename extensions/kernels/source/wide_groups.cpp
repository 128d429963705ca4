#include "wide_groups.hpp"

namespace workbench {
namespace {

// Taps that follow each other in a plane and in the weight.
struct Run {
    std::int64_t offset, number, count;
};

// Rows of outputs of a group.
struct GroupWindows {
    const Run* runs;
    std::int64_t taps_of_runs;  // of each run, where they are as far apart as places; or 0
    std::int64_t run_count, inputs, outputs, width;  // the outputs up to whole registers
    const float *plane, *weight;   // [taps, inputs, width]
    std::int64_t plane_step, step;  // floats between the windows of two rows, and of two places of a row
    std::int64_t rows, count;
    const float* bias;
    float* out;
    std::int64_t out_row_step, out_step;
};

// What a plane of gradients gives to each tap.
struct GroupTapSums {
    const Tap* taps;
    std::int64_t tap_count, inputs, outputs;
    const float *gradient, *plane;
    std::int64_t gradient_depth, plane_step, step, rows, count;
    float* sums;  // [inputs, taps, outputs], both up to whole registers
};

}  // namespace
}  // namespace workbench

#define WORKBENCH_LEAVES "leaves/wide_groups.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"

namespace workbench {
namespace {

std::int64_t whole_registers(std::int64_t channels) {
    const std::int64_t lanes = LEAF_WIDE(wide_lanes)();
    return (channels + lanes - 1) / lanes * lanes;
}

// The taps of a weight that meet more than padding, [O, C/groups, taps].
class UsedTaps {
   public:
    UsedTaps(const Geometry<2>& g, const float* weight) : data_(weight) {
        if (!g.shortened()) return;
        copy_ = Buffer<float>(count_of(g.weight));
        copy_strided(copy_.data(), row_major_strides(g.weight), weight + g.offset, g.weight, row_major_strides(g.whole));
        data_ = copy_.data();
    }
    const float* data() const { return data_; }

   private:
    Buffer<float> copy_;
    const float* data_;
};

// Weights as a group's sums read them, [groups, taps, from, to]: from inputs to outputs or, transposed, back to them.
Buffer<float> pack(const Geometry<2>& g, const float* weight, bool transposed) {
    const std::int64_t outputs = g.weight[0] / g.groups, inputs = g.weight[1], taps = taps_of(g);
    const std::int64_t width = whole_registers(transposed ? inputs : outputs), size = (transposed ? outputs : inputs) * taps * width;
    const UsedTaps used(g, weight);
    Buffer<float> packed(g.groups * size);
    parallel_for(g.groups, grain_for(size), [&](std::int64_t begin, std::int64_t end) {
        const Buffer<float> room(transposed ? 0 : size);
        for (std::int64_t group = begin; group < end; ++group) {
            const float* plain = used.data() + group * outputs * inputs * taps;
            if (transposed)
                LEAF_WIDE(pack_group_back)(plain, outputs, inputs, taps, packed.data() + group * size, width);
            else
                LEAF_WIDE(pack_group)(plain, outputs, inputs, taps, packed.data() + group * size, width, room.data());
        }
    });
    return packed;
}

// Taps as runs: the longer one is, the less is done beside multiplying. Of each walk the taps are in order; back to the inputs the
// weight has them the other way about, as they lie in the plane.
std::vector<Run> runs_of(const Geometry<2>& g, std::vector<Tap> taps, std::int64_t from, std::int64_t depth, bool transposed) {
    if (transposed) {
        std::reverse(taps.begin(), taps.end());
        for (Tap& tap : taps) tap.number = taps_of(g) - 1 - tap.number;
    }
    std::vector<Run> runs;
    for (const Tap& tap : taps) {
        if (from == depth && !runs.empty() && runs.back().offset + runs.back().count * depth == tap.offset &&
            runs.back().number + runs.back().count == tap.number)
            ++runs.back().count;
        else
            runs.push_back({tap.offset, tap.number, 1});
    }
    return runs;
}

// How many taps each of the runs has; 0 where they differ.
std::int64_t taps_of(const std::vector<Run>& runs) {
    for (const Run& run : runs)
        if (run.count != runs[0].count) return 0;
    return runs.empty() ? 0 : runs[0].count;
}

// All outputs of the walks down and across, from images of `from` channels a group to `out`, [N, height, width, groups of `to`].
void over_groups(const Geometry<2>& g, const Input<float>& images, const float* weight, bool transposed, const float* bias,
                 const std::vector<Walk>& down, const std::vector<Walk>& across, std::int64_t height,
                 std::int64_t width, float* out) {
    const std::int64_t from = transposed ? g.weight[0] / g.groups : g.weight[1], to = transposed ? g.weight[1] : g.weight[0] / g.groups;
    const std::int64_t depth = whole_registers(from), weight_width = whole_registers(to), channels = g.groups * to;
    const Buffer<float> packed = pack(g, weight, transposed);
    const Reach tall(down), broad(across);
    const std::int64_t every = down[0].every, step = down[0].step;
    const std::int64_t widest = (width + across[0].every - 1) / across[0].every;
    const std::int64_t tile = tile_of(widest, channels, broad.most - broad.least, 28), tiles = (widest + tile - 1) / tile;
    const std::int64_t columns = (tile - 1) * across[0].step + broad.most - broad.least + 1;
    // Every walk has the same number of rows in a band, but perhaps one less in the last.
    const std::int64_t longest = (height + every - 1) / every;
    const std::int64_t band = band_of(longest, columns, depth, channels, step, tall.most - tall.least), bands = (longest + band - 1) / band;
    const std::int64_t rows = (std::min(band, longest) - 1) * step + tall.most - tall.least + 1;
    std::vector<std::vector<Run>> runs;  // by pairs of walks
    for (const Walk& vertical : down)
        for (const Walk& walk : across)
            runs.push_back(runs_of(g, taps_in_plane(g, vertical, walk, tall, broad, columns, depth), from, depth, transposed));
    const auto run = [&](std::int64_t begin, std::int64_t end) {
        const Buffer<float> plane(rows * columns * depth), room = room_for(images, depth);
        for (std::int64_t task = begin; task < end; ++task) {
            const std::int64_t image = task / (bands * tiles * g.groups), group = task % g.groups;
            const std::int64_t first = task / (tiles * g.groups) % bands * band, left = task / g.groups % tiles * tile;
            PlaneOf part = plane_of(images, image, group * from, from, depth);
            part.first_row = first * step + tall.least, part.first_column = left * across[0].step + broad.least;
            part.rows = (std::min(band, longest - first) - 1) * step + tall.most - tall.least + 1, part.columns = columns;
            part.plane = plane.data(), part.room = room.data();
            LEAF_WIDE(to_plane)(part);
            for (std::size_t v = 0; v < down.size(); ++v)
                for (std::size_t h = 0; h < across.size(); ++h) {
                    const std::vector<Run>& met = runs[v * across.size() + h];
                    const Walk& walk = across[h];
                    const std::int64_t y = down[v].start + first * every, x = walk.start + left * walk.every;
                    LEAF_WIDE(group_sums)({met.data(), walk.step == 1 ? taps_of(met) : 0, static_cast<std::int64_t>(met.size()), from, to, weight_width, plane.data(),
                                           packed.data() + group * taps_of(g) * from * weight_width,
                                           step * columns * depth, walk.step * depth, std::min(band, down[v].count - first),
                                           std::min(tile, walk.count - left), bias ? bias + group * to : nullptr,
                                           out + ((image * height + y) * width + x) * channels + group * to, every * width * channels,
                                           walk.every * channels});
                }
        }
    };
    parallel_for(g.input[0] * bands * tiles * g.groups, grain_for(rows * columns * depth), run);
}

// Parts that the places of a group are cut into, so that all threads have work.
std::int64_t parts_of(std::int64_t groups, std::int64_t most) {
    const std::int64_t threads = omp_get_max_threads();
    return groups % threads == 0 || groups >= 8 * threads ? 1 : std::min(most, (8 * threads + groups - 1) / groups);
}

// From sums of a group, [parts, inputs, taps, outputs up to whole registers], to its part of the whole weight's gradient.
void weight_from(const Geometry<2>& g, double* totals, std::int64_t parts, std::int64_t size, float* out) {
    const std::int64_t outputs = g.weight[0] / g.groups, inputs = g.weight[1], taps = taps_of(g), width = whole_registers(outputs);
    const std::int64_t all = g.whole[2] * g.whole[3];
    const std::int64_t count = inputs * taps * width;
    const Buffer<float> sums(count), used(g.shortened() ? outputs * inputs * taps : 0);
    for (std::int64_t part = 1; part < parts; ++part)
        for (std::int64_t i = 0; i < count; ++i) totals[i] += totals[part * size + i];
    for (std::int64_t i = 0; i < count; ++i) sums.data()[i] = static_cast<float>(totals[i]);
    LEAF_WIDE(transpose)(sums.data(), width, inputs * taps, outputs, g.shortened() ? used.data() : out, inputs * taps);
    if (!g.shortened()) return;
    std::fill_n(out, outputs * inputs * all, 0.f);
    for (std::int64_t pair = 0; pair < outputs * inputs; ++pair)
        for (std::int64_t tap = 0; tap < taps; ++tap)
            out[pair * all + g.offset + tap / g.weight[3] * g.whole[3] + tap % g.weight[3]] = used.data()[pair * taps + tap];
}

}  // namespace

bool takes_wide_groups(const Geometry<2>& g) {
    const auto fits = [](std::int64_t channels) { return 8 <= channels && channels <= 64; };
    // Of more than thirty-two channels the weight leaves the first cache, and short rows read it too often.
    const bool near = g.weight[1] <= 32 || g.output[3] >= 8 || taps_of(g) == 1;
    return g.groups > 1 && fits(g.weight[1]) && fits(g.weight[0] / g.groups) && near;
}

void wide_group_convolution(const Geometry<2>& g, const Input<float>& x, const float* weight, const float* bias, float* out) {
    over_groups(g, x, weight, false, bias, forwards(g, 0), forwards(g, 1), g.output[2],
                g.output[3], out);
}

void wide_group_input_gradient(const Geometry<2>& g, const Input<float>& gradient, const float* weight, float* out) {
    over_groups(g, gradient, weight, true, nullptr, backwards(g, 0), backwards(g, 1),
                g.input[2], g.input[3], out);
}

void wide_group_weight_gradient(const Geometry<2>& g, const Input<float>& gradient, const Input<float>& x, float* out) {
    const std::int64_t inputs = g.weight[1], outputs = g.weight[0] / g.groups, depth = whole_registers(inputs);
    const std::int64_t gradient_depth = whole_registers(outputs), size = depth * taps_of(g) * gradient_depth;
    const Walk down = forwards(g, 0)[0], across = forwards(g, 1)[0];
    const Reach tall({down}), broad({across});
    const std::int64_t columns = (across.count - 1) * across.step + broad.most - broad.least + 1;
    const std::int64_t band = band_of(down.count, columns, depth, g.input[1], down.step, tall.most - tall.least), bands = (down.count + band - 1) / band;
    const std::int64_t rows = (std::min(band, down.count) - 1) * down.step + tall.most - tall.least + 1;
    const std::vector<Tap> taps = taps_in_plane(g, down, across, tall, broad, columns, depth);
    // A group's images follow each other, so that its sums stay in the cache, and become doubles after some thousand terms.
    constexpr std::int64_t most_terms = 4096;
    const std::int64_t tasks = g.input[0] * bands, parts = parts_of(g.groups, tasks);
    const Buffer<double> totals(g.groups * parts * size);
    parallel_for(g.groups * parts, 1, [&](std::int64_t begin, std::int64_t end) {
        const Buffer<float> plane(rows * columns * depth), gradients(std::min(band, down.count) * across.count * gradient_depth), sums(size);
        const Buffer<float> room = room_for(x, depth), given_room = room_for(gradient, gradient_depth);
        for (std::int64_t unit = begin; unit < end; ++unit) {
            const std::int64_t group = unit / parts, last = tasks * (unit % parts + 1) / parts;
            double* total = totals.data() + unit * size;
            std::fill_n(total, size, 0.), std::fill_n(sums.data(), size, 0.f);
            std::int64_t terms = 0;
            for (std::int64_t task = tasks * (unit % parts) / parts; task < last; ++task) {
                const std::int64_t image = task / bands, first = task % bands * band, here = std::min(band, down.count - first);
                PlaneOf part = plane_of(x, image, group * inputs, inputs, depth);
                PlaneOf given = plane_of(gradient, image, group * outputs, outputs, gradient_depth);
                part.first_row = first * down.step + tall.least, part.first_column = broad.least;
                part.rows = (here - 1) * down.step + tall.most - tall.least + 1, part.columns = columns, part.plane = plane.data(), part.room = room.data();
                given.first_row = first, given.rows = here, given.columns = across.count, given.plane = gradients.data(), given.room = given_room.data();
                LEAF_WIDE(to_plane)(part);
                LEAF_WIDE(to_plane)(given);
                LEAF_WIDE(group_tap_sums)({taps.data(), static_cast<std::int64_t>(taps.size()), inputs, outputs, gradients.data(), plane.data(),
                                           gradient_depth, down.step * columns * depth, across.step * depth, here, across.count, sums.data()});
                terms += here * across.count;
                if (terms < most_terms && task + 1 < last) continue;
                for (std::int64_t i = 0; i < size; ++i) total[i] += static_cast<double>(sums.data()[i]);
                std::fill_n(sums.data(), size, 0.f), terms = 0;
            }
        }
    });
    parallel_for(g.groups, grain_for(size * parts), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t group = begin; group < end; ++group)
            weight_from(g, totals.data() + group * parts * size, parts, size,
                        out + group * outputs * inputs * g.whole[2] * g.whole[3]);
    });
}

}  // namespace workbench
