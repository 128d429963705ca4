#pragma once

#include "layout.hpp"

namespace workbench {

// Normalises each of several rows: for callers that have few values, and memory for the results. Weight and bias may be null.
void layer_norm_of_rows(const float* x, std::int64_t rows, std::int64_t columns, const float* weight, const float* bias, double eps,
                        float* y, float* means, float* rstds);
void layer_norm_of_rows(const double* x, std::int64_t rows, std::int64_t columns, const double* weight, const double* bias, double eps,
                        double* y, double* means, double* rstds);

void bind_layer_norm(nb::module_& module);

}  // namespace workbench
