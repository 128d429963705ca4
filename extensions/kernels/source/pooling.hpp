#pragma once

#include "layout.hpp"

namespace workbench {

// One pooling geometry in plain numbers: what a leaf needs of Windows.
struct PoolPlane {
    std::int64_t height, width, channels, out_width;
    std::int64_t kernel_y, kernel_x, stride_y, stride_x, padding_y, padding_x, dilation_y, dilation_x;
};

// The largest value of each high x wide tile, stride = tile, over channels-last floats; shape is the input's [N, C, H, W].
void max_pool_tiles(const float* input, const Dims& shape, std::int64_t high, std::int64_t wide, float* output);

void bind_pooling(nb::module_& module);

}  // namespace workbench
