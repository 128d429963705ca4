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
template <typename T>
bool lies_in_planes(const Input<T>& x);

// `T`: float or bfloat16.
template <typename T>
void normalise_planes(const T* x, const Planes& size, const float* gain, const float* offset, double eps, bool relu, T* y,
                      float* mean, float* rstd);
template <typename T>
void normalise_planes_gradient(const T* g, const T* x, const Planes& size, const float* mean, const float* rstd,
                               const float* gain, T* gx, float* gain_gradient, float* offset_gradient);
// y = (x - centre) * scale + shift, channel by channel.
template <typename T>
void scale_shift_planes(const T* x, const Planes& size, const float* centre, const float* scale, const float* shift,
                        bool relu, T* y);

}  // namespace workbench
