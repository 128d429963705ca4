#pragma once

#include "layout.hpp"

namespace workbench {

// leftᵀ right of matrices [rows, m] and [rows, n] that lie row by row. Called within a KernelScope.
void multiply_by_rows(const bfloat16* left, const bfloat16* right, std::int64_t m, std::int64_t n, std::int64_t rows,
                      bfloat16* out);

// left rightᵀ + bias of matrices [m, inner] and [n, inner] that lie row by row; no bias where it is null. Within a KernelScope.
void multiply_by_columns(const bfloat16* left, const bfloat16* right, std::int64_t m, std::int64_t inner, std::int64_t n,
                         const bfloat16* bias, bool relu, bfloat16* out);

// The sums, not rounded, of left right: matrices [m, inner] and [inner, n] that lie row by row. Within a KernelScope, too.
void multiply_to_floats(const bfloat16* left, const bfloat16* right, std::int64_t m, std::int64_t inner, std::int64_t n,
                        float* out);

void bind_matmul_bfloat16(nb::module_& module);

}  // namespace workbench
