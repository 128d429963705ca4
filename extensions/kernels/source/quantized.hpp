#pragma once

#include "codes.hpp"

namespace workbench {

// Weights that are read after those at work: they are fetched meanwhile.
struct WeightsAhead {
    const std::int8_t* weights = nullptr;
    std::int64_t bytes = 0;
};

// One image (or the rows of a matrix) as the integer kernel walks it: outputs are "pixels", each a dot product of all
// weights with bytes that lie at fixed offsets from the pixel's own corner.
struct QuantizedPlane {
    const std::uint8_t* image;      // padded with the zero point
    std::int64_t row_step;          // bytes between the corners of one output row and the next
    std::int64_t pixel_step;        // bytes between the corners of one output and the next
    std::int64_t height, width;     // outputs
    const std::uint8_t* wide_rows;  // per output row: whether it reads any byte above 127; not read with VNNI
    std::int64_t channels;          // outputs per pixel, for the step between pixels of `out`
    WeightsAhead ahead;             // read with VNNI only
};

// Outputs as tiles read them: at equal steps in memory, with what they meet in each 64 bytes at offsets[0], offsets[16], ... from
// their own corner. Of every `across` the first `width` are outputs; between lie corners that nobody asks for, at the end of
// padded rows. Those from `first` to `last` are taken. Behind the last of all there may be nothing; but where there are fewer
// than fill a tile, or two, memory for the rest follows.
struct QuantizedRows {
    const std::uint8_t* bytes;
    std::int64_t step;
    const std::int32_t* offsets;
    std::int64_t first, last, across, width;
};

constexpr int quantized_lanes = 16;  // channels of a block
constexpr int most_blocks = 4;       // of a panel

// How sums become codes: as oneDNN, FBGEMM or QNNPACK do it, to the last rounding. These agree but for halves.
//
//     real:    ((sum · sx) · sw + bias) · (1 / so) + zero, rounded
//     joined:  (sum + bias / (sx · sw)) · (sx · sw / so), rounded, + zero
//     whole:   (sum + rounded(bias / (sx · sw))) by whole numbers alone: a multiplier below 1 in 31 bits, a shift, + zero
enum class Requantization { real, joined, whole };

// One to four blocks of sixteen output channels that are summed together: their weights, and what turns sums into
// results. A step takes four bytes of the input for all of them, weights [blocks][16][4]; or, where channels stay apart
// (a depthwise convolution), a byte of its own for each of one block, weights [16].
struct QuantizedPanel {
    const std::int8_t* weights;
    const std::int32_t* offsets;  // of each step's four bytes from the pixel's corner
    std::int64_t steps, blocks;
    std::int64_t quads;           // of the steps, the first ones: those whose products are added in 16 bits by four,
    std::int64_t pairs;           // and those where they are added by four or by two; see PackedWeights
    std::int64_t channels;        // of the blocks' that exist
    std::int64_t first;           // of the channels, among all outputs
    std::int64_t input;           // of the channels that it reads, among all inputs
    bool apart;
    std::int32_t start[most_blocks * quantized_lanes];  // of each sum: minus zero point times the sum of weights
    std::int32_t sums[most_blocks * quantized_lanes];   // of weights, where each output has a zero point of its own
    Requantization how;
    float input_scale, scale[most_blocks * quantized_lanes], shift[most_blocks * quantized_lanes];
    float inverse, zero;          // from real numbers to codes
    float low, high;              // of the result
    bool bounded;                 // no sum comes near what 32 bits hold when it has become a code
    std::int32_t multiplier[most_blocks * quantized_lanes], right[most_blocks * quantized_lanes];
    std::int32_t zero_point;
};

// Where results go: to bytes, else to floats; then each output may have a scale and a zero point of its own.
struct QuantizedTarget {
    std::uint8_t* bytes;
    float* floats;
    const float* scales;
    const std::int32_t* zeros;
};

void bind_quantized(nb::module_& module);

}  // namespace workbench
