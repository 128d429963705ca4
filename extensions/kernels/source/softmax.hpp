#pragma once

#include "layout.hpp"

namespace workbench {

// Softmax of each of several rows, or its logarithm: for callers that have few values, and memory for the result.
void softmax_of_rows(const float* x, std::int64_t rows, std::int64_t columns, bool logarithm, float* y);
void softmax_of_rows(const double* x, std::int64_t rows, std::int64_t columns, bool logarithm, double* y);

// Softmax along a dim of values that lie row by row, or its logarithm, and the gradient; on as many threads as there are.
template <typename T>
void softmax_along(const T* x, const Dims& shape, std::int64_t dim, bool logarithm, T* out);
template <typename T>
void softmax_along_gradient(const T* gradient, const T* y, const Dims& shape, std::int64_t dim, bool logarithm, T* out);

// How the cross entropies of places become one number, or stay as they are, and which class does not count.
struct CrossEntropy {
    std::string reduction;
    std::int64_t ignored;
    float smoothing;
};
// Of scores [N, C, …] that lie row by row, and a class for each place; a single number is the first of `out`. Both throw
// IndexError for a class that there is not.
void cross_entropy_of(const float* x, const Dims& shape, const std::int64_t* target, const CrossEntropy& how, float* out);
void cross_entropy_of_gradient(const float* gradient, const float* x, const Dims& shape, const std::int64_t* target,
                               const CrossEntropy& how, float* gx);

void bind_softmax(nb::module_& module);

}  // namespace workbench
