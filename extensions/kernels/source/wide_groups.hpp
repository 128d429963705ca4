// Convolutions of planes in groups of some more channels than `grouped_convolution` takes: eight to sixty-four.
//
// oneDNN has good code for them, but in an order of its own, and turning images of small groups takes as long as multiplying.
// Here a group's part of an image is turned while it stays in the cache, and zeros are written out around it.
#pragma once

#include "convolution_planes.hpp"

namespace workbench {

bool takes_wide_groups(const Geometry<2>& g);
// `weight` lies row-major with all its taps; `bias` may be null. Results lie channels-last, that of the weight row-major.
void wide_group_convolution(const Geometry<2>& g, const Input<float>& x, const float* weight, const float* bias, float* out);
void wide_group_input_gradient(const Geometry<2>& g, const Input<float>& gradient, const float* weight, float* out);
void wide_group_weight_gradient(const Geometry<2>& g, const Input<float>& gradient, const Input<float>& x, float* out);

}  // namespace workbench
