// Convolutions of planes in groups of as many outputs as inputs, few enough for a register: depthwise ones, and ResNeXt's.
//
// oneDNN has code for some of them only: of the gradient of a weight for 3 x 3 windows that are depthwise, and of groups of
// less than sixteen channels next to none. Here a register holds whole groups of channels-last images, so that each product
// takes its operands as they lie. Images that lie otherwise are brought into that order by parts that stay in the cache.
#pragma once

#include "convolution_geometry.hpp"

namespace workbench {

bool takes_groups(const Geometry<2>& g);
// `weight` lies row-major with all its taps; `bias` may be null. Results lie channels-last, that of the weight row-major.
void grouped_convolution(const Geometry<2>& g, const Input<float>& x, const float* weight, const float* bias, float* out);
void grouped_input_gradient(const Geometry<2>& g, const Input<float>& gradient, const float* weight, float* out);
void grouped_weight_gradient(const Geometry<2>& g, const Input<float>& gradient, const Input<float>& x, float* out);

}  // namespace workbench
