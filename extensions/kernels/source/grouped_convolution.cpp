#include "grouped_convolution.hpp"

#include "convolution_planes.hpp"

namespace workbench {
namespace {

// Rows of outputs of the channels of one register.
struct Windows {
    const Tap* taps;
    std::int64_t tap_count;
    const float *plane, *weight;          // [taps, channels of a group, lanes]
    std::int64_t plane_step, step;        // floats between the windows of two rows, and columns between two of a row
    std::int64_t rows, count, channels;   // of outputs
    const float* bias;
    float* out;
    std::int64_t out_row_step, out_step;
};

// What a plane of gradients gives to each tap.
struct TapSums {
    const Tap* taps;
    std::int64_t tap_count;
    const float *gradient, *plane;
    std::int64_t gradient_step, plane_step, step, rows, count;
    float* sums;  // [taps, channels of a group, lanes]
};

}  // namespace
}  // namespace workbench

#define WORKBENCH_LEAVES "leaves/grouped_convolution.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"

namespace workbench {
namespace {

constexpr std::int64_t most_places = 8;  // that are worked on at once, even where a row has less

std::int64_t lane_count() { return LEAF_WIDE(group_lanes)(); }
std::int64_t wide_of(const Geometry<2>& g) { return g.weight[1]; }

// Visits (place in a plain weight, place in [registers, taps, channels of a group, lanes]) of what an output takes from the
// inputs of its group; or, transposed, of what goes back to an input from its group's outputs.
template <typename Visit>
void over_weights(const Geometry<2>& g, bool transposed, Visit&& visit) {
    const std::int64_t lanes = lane_count(), wide = wide_of(g), rows = g.weight[2], columns = g.weight[3];
    for (std::int64_t channel = 0; channel < g.input[1]; ++channel)
        for (std::int64_t i = 0; i < wide; ++i) {
            const std::int64_t first = channel / wide * wide, output = transposed ? first + i : channel;
            const std::int64_t input = transposed ? channel - first : i;
            for (std::int64_t row = 0; row < rows; ++row)
                for (std::int64_t column = 0; column < columns; ++column)
                    visit(g.offset + ((output * wide + input) * g.whole[2] + row) * g.whole[3] + column,
                          ((channel / lanes * rows * columns + row * columns + column) * wide + i) * lanes + channel % lanes);
        }
}

// Registers of channels, and all their weights.
std::int64_t block_count(const Geometry<2>& g) { return (g.input[1] + lane_count() - 1) / lane_count(); }
std::int64_t block_size(const Geometry<2>& g) { return taps_of(g) * wide_of(g) * lane_count(); }

std::int64_t channels_in(const Geometry<2>& g, std::int64_t block) { return std::min(lane_count(), g.input[1] - block * lane_count()); }

PlaneOf plane_of_block(const Geometry<2>& g, const Input<float>& x, std::int64_t image, std::int64_t block) {
    return plane_of(x, image, block * lane_count(), channels_in(g, block), lane_count());
}

// All outputs of the walks down and across, from images to `out`, [N, height, width, C].
void over_windows(const Geometry<2>& g, const Input<float>& images, const float* weight, bool transposed, const float* bias,
                  const std::vector<Walk>& down, const std::vector<Walk>& across, std::int64_t height, std::int64_t width, float* out) {
    const std::int64_t channels = g.input[1], wide = wide_of(g), lanes = lane_count(), blocks = block_count(g), size = block_size(g);
    const Buffer<float> packed(blocks * size);
    if (channels % lanes) std::fill_n(packed.data(), blocks * size, 0.f);
    over_weights(g, transposed, [&](std::int64_t plain, std::int64_t place) { packed.data()[place] = weight[plain]; });
    const Reach tall(down), broad(across);
    const std::int64_t every = down[0].every, step = down[0].step;
    const std::int64_t widest = (width + across[0].every - 1) / across[0].every, tile = tile_of(widest, channels, broad.most - broad.least, most_places);
    const std::int64_t tiles = (widest + tile - 1) / tile;
    const std::int64_t columns = (std::max(tile, most_places) - 1) * across[0].step + broad.most - broad.least + 1;
    // Every walk has the same number of rows in a band, but perhaps one less in the last.
    const std::int64_t longest = (height + every - 1) / every;
    const std::int64_t band = band_of(longest, columns, lanes, channels, step, tall.most - tall.least), bands = (longest + band - 1) / band;
    const std::int64_t rows = (std::min(band, longest) - 1) * step + tall.most - tall.least + 1;
    std::vector<std::vector<Tap>> taps;  // by pairs of walks
    for (const Walk& vertical : down)
        for (const Walk& walk : across) taps.push_back(taps_in_plane(g, vertical, walk, tall, broad, columns, lanes));
    const auto run = [&](std::int64_t begin, std::int64_t end) {
        const Buffer<float> plane(rows * columns * lanes), room = room_for(images, lanes);
        for (std::int64_t task = begin; task < end; ++task) {
            const std::int64_t image = task / (bands * tiles * blocks), block = task % blocks;
            const std::int64_t first = task / (tiles * blocks) % bands * band, left = task / blocks % tiles * tile;
            PlaneOf part = plane_of_block(g, images, image, block);
            part.first_row = first * step + tall.least, part.first_column = left * across[0].step + broad.least;
            part.rows = (std::min(band, longest - first) - 1) * step + tall.most - tall.least + 1, part.columns = columns;
            part.plane = plane.data(), part.room = room.data();
            LEAF_WIDE(to_plane)(part);
            for (std::size_t v = 0; v < down.size(); ++v)
                for (std::size_t h = 0; h < across.size(); ++h) {
                    const std::vector<Tap>& met = taps[v * across.size() + h];
                    const Walk& walk = across[h];
                    const std::int64_t y = down[v].start + first * every, x = walk.start + left * walk.every;
                    LEAF_WIDE(window_sums)(wide, {met.data(), static_cast<std::int64_t>(met.size()), plane.data(), packed.data() + block * size,
                                                  step * columns * lanes, walk.step, std::min(band, down[v].count - first),
                                                  std::min(tile, walk.count - left),
                                                  part.channels, bias ? bias + block * lanes : nullptr,
                                                  out + ((image * height + y) * width + x) * channels + block * lanes,
                                                  every * width * channels, walk.every * channels});
                }
        }
    };
    parallel_for(g.input[0] * bands * tiles * blocks, grain_for(rows * columns * lanes), run);
}

}  // namespace

bool takes_groups(const Geometry<2>& g) {
    const std::int64_t wide = wide_of(g);
    // Less than eight channels leave most of a register empty.
    return g.groups > 1 && g.weight[0] == g.input[1] && (wide & (wide - 1)) == 0 && wide <= 8 && g.input[1] >= 8;
}

void grouped_convolution(const Geometry<2>& g, const Input<float>& x, const float* weight, const float* bias, float* out) {
    over_windows(g, x, weight, false, bias, forwards(g, 0), forwards(g, 1), g.output[2], g.output[3], out);
}

void grouped_input_gradient(const Geometry<2>& g, const Input<float>& gradient, const float* weight, float* out) {
    over_windows(g, gradient, weight, true, nullptr, backwards(g, 0), backwards(g, 1), g.input[2], g.input[3], out);
}

void grouped_weight_gradient(const Geometry<2>& g, const Input<float>& gradient, const Input<float>& x, float* out) {
    const std::int64_t wide = wide_of(g), lanes = lane_count(), blocks = block_count(g), size = block_size(g);
    const Walk down = forwards(g, 0)[0], across = forwards(g, 1)[0];
    const Reach tall({down}), broad({across});
    const std::int64_t columns = (across.count - 1) * across.step + broad.most - broad.least + 1;
    const std::int64_t band = band_of(down.count, columns, lanes, g.input[1], down.step, tall.most - tall.least), bands = (down.count + band - 1) / band;
    const std::int64_t rows = (std::min(band, down.count) - 1) * down.step + tall.most - tall.least + 1;
    const std::vector<Tap> taps = taps_in_plane(g, down, across, tall, broad, columns, lanes);
    const std::int64_t tasks = g.input[0] * bands * blocks, workers = part_count(tasks, grain_for(rows * columns * lanes));
    const Buffer<double> totals(workers * blocks * size);
    parallel_parts(tasks, workers, [&](std::int64_t worker, std::int64_t begin, std::int64_t end) {
        double* total = totals.data() + worker * blocks * size;
        std::fill_n(total, blocks * size, 0.);
        const Buffer<float> plane(rows * columns * lanes), gradients(std::min(band, down.count) * across.count * lanes), sums(size);
        const Buffer<float> room = room_for(x, lanes), given_room = room_for(gradient, lanes);
        for (std::int64_t task = begin; task < end; ++task) {
            const std::int64_t image = task / (bands * blocks), first = task / blocks % bands * band, block = task % blocks;
            const std::int64_t here = std::min(band, down.count - first);
            PlaneOf part = plane_of_block(g, x, image, block), given = plane_of_block(g, gradient, image, block);
            part.first_row = first * down.step + tall.least, part.first_column = broad.least;
            part.rows = (here - 1) * down.step + tall.most - tall.least + 1, part.columns = columns, part.plane = plane.data(), part.room = room.data();
            given.first_row = first, given.rows = here, given.columns = across.count, given.plane = gradients.data(), given.room = given_room.data();
            LEAF_WIDE(to_plane)(part);
            LEAF_WIDE(to_plane)(given);
            std::fill_n(sums.data(), size, 0.f);
            LEAF_WIDE(tap_sums)(wide, {taps.data(), static_cast<std::int64_t>(taps.size()), gradients.data(), plane.data(), across.count * lanes,
                                       down.step * columns * lanes, across.step, here, across.count, sums.data()});
            for (std::int64_t i = 0; i < size; ++i) total[block * size + i] += static_cast<double>(sums.data()[i]);
        }
    });
    if (g.shortened()) std::fill_n(out, count_of(g.whole), 0.f);
    over_weights(g, false, [&](std::int64_t plain, std::int64_t place) {
        double sum = 0;
        for (std::int64_t worker = 0; worker < workers; ++worker) sum += totals.data()[worker * blocks * size + place];
        out[plain] = static_cast<float>(sum);
    });
}

}  // namespace workbench
