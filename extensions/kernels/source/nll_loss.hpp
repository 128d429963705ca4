#pragma once

#include "layout.hpp"

namespace workbench {

// Of values [N, C, …] that lie row by row, a class for each place, and a weight for each class or none; a single number is the
// first of `out`. Both throw IndexError for a class that there is not.
void nll_loss_of(const float* x, const Dims& sizes, const std::int64_t* target, const float* weight, const std::string& reduction,
                 std::int64_t ignored, float* out);
void nll_loss_of_gradient(const float* gradient, const Dims& sizes, const std::int64_t* target, const float* weight,
                          const std::string& reduction, std::int64_t ignored, float* gx);

void bind_nll_loss(nb::module_& module);

}  // namespace workbench
