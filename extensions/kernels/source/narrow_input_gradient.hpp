// The gradient of a convolution's input that has up to four channels: of pictures and of sound, which attributions ask for.
//
// oneDNN computes eight channels at a time, whether there are as many or not. Here a register holds channels of the output, whose
// products are added across it at the end, and each of few sums takes them as they lie.
#pragma once

#include "convolution_geometry.hpp"

namespace workbench {

bool takes_narrow_input(const Geometry<2>& g);
// `gradients` lie channels-last, `weight` row-major with all its taps; the result lies channels-last. Padding is passed over.
void narrow_input_gradient(const Geometry<2>& g, const float* gradients, const float* weight, float* out);

}  // namespace workbench
