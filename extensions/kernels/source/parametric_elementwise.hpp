#pragma once

#include "layout.hpp"

namespace workbench {

// Functions of one operand and at most three numbers.
enum class Shaped : int { clamp, leaky_relu, elu, softplus, logsigmoid, hardsigmoid, hardswish, mish, softshrink, hardshrink,
                          threshold, rsqrt, cube, reciprocal, inverse_square };
// What takes a gradient through one: a function of the gradient, the operand and the numbers.
enum class Passed : int { between, within, beyond, above, leaky_relu, elu, softplus, logsigmoid, hardswish, mish };

// For callers that have few values, and memory for the result.
void softplus_of(const float* x, double beta, double threshold, std::int64_t count, float* out);

void bind_shaped(nb::module_& module);

}  // namespace workbench
