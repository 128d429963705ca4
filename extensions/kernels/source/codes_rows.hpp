#pragma once

#include "layout.hpp"

namespace workbench {

// How real numbers become codes: out = clamp(rne(value · inverse) + zero, low, high); NaN becomes the highest.
struct RowsOut {
    float inverse, zero, low, high;
};

// The softmax of rows: powers of e by how far a code is below the greatest one of its row, as whole numbers.
struct SoftmaxOfCodes {
    const std::int32_t* powers;
    double scale;  // of the result
    RowsOut out;
};

// A normalisation of rows by whole sums, in double precision up to one factor and one mean a row. Each `run` neighbours share a
// weight and a bias, of which there are `factors` behind one another, and then again.
struct NormOfCodes {
    double scale, eps;
    std::int64_t zero;
    bool centred;  // the mean is taken off; else rows are scaled by their root mean square
    const float *weight, *bias;
    std::int64_t run, factors;
    RowsOut out;
};

constexpr std::int64_t longest_row_of_codes = 1 << 22;  // whose sums of squares 64 bits hold, multiplied by their number

void softmax_of_codes(const std::uint8_t* codes, std::int64_t rows, std::int64_t count, const SoftmaxOfCodes& of, std::uint8_t* out);
void normalise_codes(const std::uint8_t* codes, std::int64_t rows, std::int64_t count, const NormOfCodes& of, std::uint8_t* out);

void bind_codes_rows(nb::module_& module);

}  // namespace workbench
