#pragma once

#include "layout.hpp"

namespace workbench {

enum class Binary : int { add, sub, mul, div, reversed_sub, reversed_div, maximum, minimum, relu_gradient };
enum class Unary : int { relu, neg, abs, exp, tanh, sigmoid, sqrt };

void bind_elementwise(nb::module_& module);

}  // namespace workbench
