#include "batch_norm_channels_first.hpp"

#include <cmath>

#define WORKBENCH_LEAVES "leaves/group_norm.inl"
#define WORKBENCH_LEAVES_WIDE
#pragma GCC diagnostic ignored "-Wunused-function"  // leaves of other files
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {

Planes::Planes(const Dims& shape) : samples(shape[0]), channels(shape[1]), places(1) {
    for (std::size_t i = 2; i < shape.size(); ++i) places *= shape[i];
}

template <typename T>
bool lies_in_planes(const Input<T>& x) {
    const Dims shape = shape_of(x), strides = strides_of(x);
    if (shape.size() < 3 || !lies_as(shape, strides, row_major_strides(shape))) return false;
    return Planes(shape).places >= 16 && (shape[1] == 1 || !lies_as(shape, strides, channels_last_strides(shape)));
}

template <typename T>
void normalise_planes(const T* x, const Planes& size, const float* gain, const float* offset, double eps, bool relu, T* y,
                      float* mean, float* rstd) {
    parallel_for(size.channels, grain_for(size.samples * size.places * 2), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t c = begin; c < end; ++c) {
            double centre = 0, squares = 0;  // squares: the mean of squared distances
            for (std::int64_t n = 0; n < size.samples; ++n) {
                double own, variance;
                LEAF_WIDE(group_moments<T>)(x + size.at(n, c), size.places, &own, &variance);
                const double share = 1.0 / static_cast<double>(n + 1), distance = own - centre;
                centre += distance * share;
                squares += (variance - squares) * share + distance * distance * share * (1.0 - share);
            }
            const double inverse = 1.0 / std::sqrt(squares + eps);
            mean[c] = static_cast<float>(centre), rstd[c] = static_cast<float>(inverse);
            for (std::int64_t n = 0; n < size.samples; ++n)
                LEAF_WIDE(scale_shift_run<T>)(x + size.at(n, c), size.places, mean[c], static_cast<float>(gain[c] * inverse),
                                           offset[c], relu, y + size.at(n, c));
        }
    });
}

template <typename T>
void normalise_planes_gradient(const T* g, const T* x, const Planes& size, const float* mean, const float* rstd,
                               const float* gain, T* gx, float* gain_gradient, float* offset_gradient) {
    const double count = static_cast<double>(size.samples * size.places);
    parallel_for(size.channels, grain_for(size.samples * size.places * 3), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t c = begin; c < end; ++c) {
            double sum = 0, product = 0;
            for (std::int64_t n = 0; n < size.samples; ++n) {
                double own, along;
                LEAF_WIDE(gradient_sums_run<T>)(g + size.at(n, c), x + size.at(n, c), size.places, mean[c], &own, &along);
                sum += own, product += along;
            }
            offset_gradient[c] = static_cast<float>(sum);
            gain_gradient[c] = static_cast<float>(product * rstd[c]);
            // gx = w r (g - sum/n - (x - m) r^2 product/n)
            const double outer = static_cast<double>(gain[c]) * rstd[c];
            const float slope = static_cast<float>(-outer * rstd[c] * rstd[c] * product / count);
            const float shift = static_cast<float>(-outer * sum / count);
            for (std::int64_t n = 0; n < size.samples; ++n)
                LEAF_WIDE(combine_run<T>)(g + size.at(n, c), x + size.at(n, c), size.places, mean[c], static_cast<float>(outer),
                                       slope, shift, gx + size.at(n, c));
        }
    });
}

template <typename T>
void scale_shift_planes(const T* x, const Planes& size, const float* centre, const float* scale, const float* shift,
                        bool relu, T* y) {
    parallel_for(size.samples * size.channels, grain_for(size.places * 2), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t run = begin; run < end; ++run) {
            const std::int64_t c = run % size.channels;
            LEAF_WIDE(scale_shift_run<T>)(x + run * size.places, size.places, centre[c], scale[c], shift[c], relu,
                                       y + run * size.places);
        }
    });
}

#define WORKBENCH_PLANES(T)                                                                                                  \
    template bool lies_in_planes(const Input<T>&);                                                                           \
    template void normalise_planes(const T*, const Planes&, const float*, const float*, double, bool, T*, float*, float*);   \
    template void normalise_planes_gradient(const T*, const T*, const Planes&, const float*, const float*, const float*, T*, \
                                            float*, float*);                                                                 \
    template void scale_shift_planes(const T*, const Planes&, const float*, const float*, const float*, bool, T*);
WORKBENCH_PLANES(float)
WORKBENCH_PLANES(bfloat16)
#undef WORKBENCH_PLANES

}  // namespace workbench
