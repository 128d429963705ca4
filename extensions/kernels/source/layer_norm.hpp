#pragma once

#include "layout.hpp"

namespace workbench {

// Normalises each of several rows: for callers that have few values, and memory for the results. Weight and bias may be null.
void layer_norm_of_rows(const float* x, std::int64_t rows, std::int64_t columns, const float* weight, const float* bias, double eps,
                        float* y, float* means, float* rstds);
void layer_norm_of_rows(const double* x, std::int64_t rows, std::int64_t columns, const double* weight, const double* bias, double eps,
                        double* y, double* means, double* rstds);

// Rows of `columns` values beside each other, on as many threads as there are; without room for means, rows are scaled only.
template <typename T>
void normalise_rows(const T* x, std::int64_t rows, std::int64_t columns, const T* weight, const T* bias, double eps, T* y, T* means,
                    T* rstds);
// Writes gx, the sums over rows for the weight's gradient and, where rows have means, for the bias's.
template <typename T>
void normalise_rows_gradient(const T* gradient, const T* x, std::int64_t rows, std::int64_t columns, const T* means, const T* rstds,
                             const T* weight, T* gx, T* gw, T* gb);

void bind_layer_norm(nb::module_& module);

}  // namespace workbench
