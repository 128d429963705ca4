#pragma once

#include "layout.hpp"

namespace workbench {

// One image (or the rows of a matrix) as the integer kernel walks it: outputs are "pixels", each a dot product of all
// weights with bytes that lie at fixed offsets from the pixel's own corner.
struct QuantizedPlane {
    const std::uint8_t* image;      // padded with the zero point
    std::int64_t row_step;          // bytes between the corners of one output row and the next
    std::int64_t pixel_step;        // bytes between the corners of one output and the next
    std::int64_t height, width;     // outputs
    const std::uint8_t* wide_rows;  // per output row: whether it reads any byte above 127; not read with VNNI
    std::int64_t channels;          // outputs per pixel, for the step between pixels of `out`
};

constexpr int quantized_lanes = 16;  // channels of a block
constexpr int most_blocks = 4;       // of a panel
constexpr int steps_together = 2;    // whose products are added in 16 bits, see PackedWeights

// One to four blocks of sixteen output channels that are summed together: their weights, and what turns sums into
// results. A step takes four bytes of the input for all of them, weights [blocks][16][4]; or, where channels stay apart
// (a depthwise convolution), a byte of its own for each of one block, weights [16].
struct QuantizedPanel {
    const std::int8_t* weights;
    const std::int32_t* offsets;  // of each step's four bytes from the pixel's corner
    std::int64_t steps, blocks;
    std::int64_t channels;        // of the blocks' that exist
    std::int64_t first;           // of the channels, among all outputs
    std::int64_t input;           // of the channels that it reads, among all inputs
    bool apart;
    std::int32_t start[most_blocks * quantized_lanes];  // minus zero point times the sum of weights
    float scale[most_blocks * quantized_lanes], shift[most_blocks * quantized_lanes];
    float low, high;              // of the result before the zero point is added
    std::int32_t zero_point;
};

void bind_quantized(nb::module_& module);

}  // namespace workbench
