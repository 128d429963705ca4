#pragma once

#include "layout.hpp"

namespace workbench {

enum class Binary : int { add, sub, mul, div, reversed_sub, reversed_div, maximum, minimum, relu_gradient, tanh_gradient,
                          sigmoid_gradient, gelu_gradient, gelu_tanh_gradient, silu_gradient, prelu };
enum class Unary : int { relu, neg, abs, exp, tanh, sigmoid, sqrt, erf, ndtr, gelu, gelu_tanh, silu };

// For callers that have few values, and memory for the result.
void sigmoid_of(const float* x, std::int64_t count, float* out);

void bind_elementwise(nb::module_& module);

}  // namespace workbench
