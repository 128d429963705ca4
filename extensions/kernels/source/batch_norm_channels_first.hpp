// Batch normalisation of what lies channel after channel.
#pragma once

#include "layout.hpp"

namespace workbench {

// [N, C, ...] as runs of `places` values, C of them a sample.
struct Planes {
    std::int64_t samples, channels, places;

    explicit Planes(const Dims& shape);
    std::int64_t at(std::int64_t sample, std::int64_t channel) const { return (sample * channels + channel) * places; }
};

// Whether an array lies so, in runs that are worth a loop.
bool lies_in_planes(const Input<float>& x);

void normalise_planes(const float* x, const Planes& size, const float* gain, const float* offset, double eps, bool relu,
                      float* y, float* mean, float* rstd);
void normalise_planes_gradient(const float* g, const float* x, const Planes& size, const float* mean, const float* rstd,
                               const float* gain, float* gx, float* gain_gradient, float* offset_gradient);
// y = (x - centre) * scale + shift, channel by channel.
void scale_shift_planes(const float* x, const Planes& size, const float* centre, const float* scale, const float* shift,
                        bool relu, float* y);

}  // namespace workbench
