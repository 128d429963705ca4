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
    bool pooled;                    // take the largest of each 2 x 2 outputs
    const std::uint8_t* wide_rows;  // per output row: whether it reads any byte above 127
    std::int64_t channels;          // outputs per pixel, for the step between pixels of `out`
};

// Sixteen output channels: their weights, and what turns sums into results. A step takes four bytes of the input for
// all sixteen, [2][8][4] weights; `steps_together` of them make a group, see PackedWeights.
constexpr int steps_together = 2;

struct QuantizedBlock {
    const std::int8_t* weights;
    const std::int32_t* offsets;  // of each step's four bytes from the pixel's corner
    std::int64_t groups;
    std::int32_t start[16];       // minus zero point times the sum of weights
    float scale[16], shift[16];
    float low, high;              // of the result before the zero point is added
    std::int32_t zero_point;
    std::int64_t channels;        // of the sixteen that exist
};

void bind_quantized(nb::module_& module);

}  // namespace workbench
