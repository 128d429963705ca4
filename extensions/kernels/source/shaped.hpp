#pragma once

#include "layout.hpp"

namespace workbench {

// Functions of one operand and at most three numbers.
enum class Shaped : int { clamp, leaky_relu, elu, softplus, logsigmoid, rsqrt, cube, reciprocal, inverse_square, inverse_root };

void bind_shaped(nb::module_& module);

}  // namespace workbench
