#pragma once

#include "codes_rows.hpp"
#include "layout.hpp"

namespace workbench {

// Products of matrices of unsigned codes: whole sums of (a - a_zero)·(b - b_zero), which become codes.
struct ProductOfCodes {
    std::int64_t batch, rows, inner, columns;
    std::int64_t a_step, b_step;  // from one matrix of the batch to the next; 0 where there is one for all
    std::int64_t b_inner, b_columns;  // steps of the second operand in memory; the first lies row by row
    std::int32_t a_zero, b_zero;
    RowsOut out;
};

constexpr std::int64_t longest_product_of_codes = 1 << 15;  // 32 bits hold so many products

void multiply_matrices_of_codes(const std::uint8_t* a, const std::uint8_t* b, const ProductOfCodes& of, std::uint8_t* out);

void bind_codes_product(nb::module_& module);

}  // namespace workbench
