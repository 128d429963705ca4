#pragma once

#include <optional>

#include "layout.hpp"

namespace workbench {

// The shape of a product over the last two dims, with batches at the left, and of a linear layer. They refuse what does not
// fit.
Dims product_shape(const Dims& left, const Dims& right);
Dims linear_shape(const Dims& x, const Dims& weight, const std::optional<Dims>& bias);

void bind_matmul(nb::module_& module);

}  // namespace workbench
