#pragma once

#include "layout.hpp"

namespace workbench {

enum class DoubleFunction : int { sin, cos, sigmoid, relu };

// For callers that have few values, and memory for the result.
void sigmoid_of(const double* x, std::int64_t count, double* out);
void softplus_of(const double* x, double beta, double threshold, std::int64_t count, double* out);

void bind_doubles(nb::module_& module);

}  // namespace workbench
