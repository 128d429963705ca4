#pragma once

#include "convolution.hpp"

namespace workbench {

// One pooling geometry in plain numbers: what a leaf needs of Windows.
struct PoolPlane {
    std::int64_t height, width, channels, out_width;
    std::int64_t kernel_y, kernel_x, stride_y, stride_x, padding_y, padding_x, dilation_y, dilation_x;
};

// The largest value of each high x wide tile, stride = tile, over channels-last floats; shape is the input's [N, C, H, W].
void max_pool_tiles(const float* input, const Dims& shape, std::int64_t high, std::int64_t wide, float* output);

// The largest codes of windows, over channels-last bytes; shape is the input's [N, C, H, W]. Dims come first: what there is to write.
Dims max_pool_sizes(const Dims& shape, Pair kernel, Pair stride, Pair padding, Pair dilation);
void max_pool_codes(const std::uint8_t* input, const Dims& shape, Pair kernel, Pair stride, Pair padding, Pair dilation,
                    std::uint8_t* output);

void bind_pooling(nb::module_& module);

}  // namespace workbench
