#pragma once

#include "layout.hpp"

namespace workbench {

// Softmax of each of several rows, or its logarithm: for callers that have few values, and memory for the result.
void softmax_of_rows(const float* x, std::int64_t rows, std::int64_t columns, bool logarithm, float* y);
void softmax_of_rows(const double* x, std::int64_t rows, std::int64_t columns, bool logarithm, double* y);

void bind_softmax(nb::module_& module);

}  // namespace workbench
