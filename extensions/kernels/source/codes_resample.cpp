// Codes at other places along the spatial dims: weights are whole numbers that sum to 2^15 along each dim, and so are the sums.
#include "codes_resample.hpp"

#include <utility>
#include <vector>

#define WORKBENCH_LEAVES "leaves/codes_resample.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

// What is read, and by which weights: both [places, taps].
using Told = std::pair<Plain<std::int64_t>, Plain<std::int32_t>>;

// As three dims: those that are missing read their one place, by a weight of one.
struct Alongs {
    CodesAlong dims[3];
    int shift = 0;
    bool narrow = true;
};

Alongs checked(const Dims& input, const std::vector<Told>& told) {
    static constexpr std::int64_t only_place = 0;
    static constexpr std::int32_t only_weight = 1;
    if (input.size() < 3 || input.size() > 5 || told.size() != input.size() - 2)
        refuse("codes are resampled of [N, C, ...] with 1 to 3 spatial dims, each with its weights, not of " + text(input) + " with " +
               std::to_string(told.size()));
    Alongs found{{{1, 1, 1, &only_place, &only_weight}, {1, 1, 1, &only_place, &only_weight}, {1, 1, 1, &only_place, &only_weight}}};
    const std::size_t missing = 5 - input.size();
    for (std::size_t dim = 0; dim < told.size(); ++dim) {
        const auto& [reads, weights] = told[dim];
        const Dims shape = shape_of(reads);
        if (shape.size() != 2 || shape != shape_of(weights) || shape[1] < 1 || shape[1] > 16)
            refuse("what is read and its weights are [places, taps] with 1 to 16 taps, not " + text(shape) + " and " + text(shape_of(weights)));
        for (std::int64_t i = 0; i < count_of(shape); ++i)
            if (reads.data()[i] < 0 || reads.data()[i] >= input[dim + 2])
                refuse("place " + std::to_string(reads.data()[i]) + " does not lie within " + std::to_string(input[dim + 2]));
        for (std::int64_t i = 0; i < count_of(shape); ++i)
            if (weights.data()[i] < -(1 << 16) || weights.data()[i] > (1 << 16)) refuse("weights of codes are at most 2 in 2^-15");
        found.dims[missing + dim] = {input[dim + 2], shape[0], shape[1], reads.data(), weights.data()};
        found.shift += resampled_shift;
    }
    found.narrow = told.size() < 3;
    return found;
}

nb::object resample(const Input<std::uint8_t>& codes, const std::vector<Told>& told) {
    const Dims input = shape_of(codes), strides = strides_of(codes);
    const Alongs of = checked(input, told);
    Dims output = input;
    for (std::size_t dim = 0; dim < told.size(); ++dim) output[dim + 2] = of.dims[5 - input.size() + dim].places;
    const bool rows = lies_as(input, strides, row_major_strides(input)) && !lies_as(input, strides, channels_last_strides(input));
    Output<std::uint8_t> out(output, rows ? row_major_strides(output) : channels_last_strides(output));
    if (!count_of(output)) return out.to_python();
    {
        KernelScope scope;
        const Dense<std::uint8_t> image(codes, rows ? row_major_strides(input) : channels_last_strides(input));
        const std::int64_t images = rows ? input[0] * input[1] : input[0], channels = rows ? 1 : input[1];
        const auto& [deep, high, wide] = of.dims;
        const std::int64_t line = wide.size * channels, made = wide.places * channels;
        parallel_for(images * deep.places * high.places, grain_for(4 * made), [&](std::int64_t begin, std::int64_t end) {
            const Buffer<std::int64_t> between(line);
            std::vector<const std::uint8_t*> read(static_cast<std::size_t>(deep.taps * high.taps));
            std::vector<std::int64_t> weights(read.size());
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t y = i % high.places, z = i / high.places % deep.places, n = i / (high.places * deep.places);
                std::size_t at = 0;
                for (std::int64_t d = 0; d < deep.taps; ++d)
                    for (std::int64_t h = 0; h < high.taps; ++h, ++at) {
                        const std::int64_t plane = n * deep.size + deep.reads[z * deep.taps + d];
                        read[at] = image.data() + (plane * high.size + high.reads[y * high.taps + h]) * line;
                        weights[at] = std::int64_t{deep.weights[z * deep.taps + d]} * high.weights[y * high.taps + h];
                    }
                LEAF_WIDE(resample_row)(read.data(), weights.data(), static_cast<std::int64_t>(at), of.narrow, wide, channels, of.shift,
                                        between.data(), out.data() + i * made);
            }
        });
    }
    return out.to_python();
}

}  // namespace

void bind_codes_resample(nb::module_& module) {
    using nb::arg;
    module.def("resample_codes", &resample, arg("codes").noconvert(), arg("along"));
}

}  // namespace workbench
