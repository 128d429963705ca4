#pragma once

#include "layout.hpp"

namespace workbench {

// What codes stand for, and what becomes codes.
struct CodesIn {
    float scale, zero;
};
struct CodesOut {
    float inverse, zero, low, high;
};

// How the sum, or the product, of two becomes codes: whole numbers are multiplied, and scales beforehand.
CodesOut codes_out(const CodesIn& a, const CodesIn& b, double scale, std::int64_t zero, std::int64_t low, std::int64_t high, bool product);
void combine_codes(const std::uint8_t* a, const CodesIn& of_a, const std::uint8_t* b, const CodesIn& of_b, std::int64_t count,
                   const CodesOut& to, bool product, std::uint8_t* out);

// The sum of what two codes stand for, as the ops dequantize, add, relu and quantize make it one after the other:
//
//     out = clamp(rne(((own - zero) · scale + (other - other_zero) · other_scale) · inverse + out_zero), low, high)
// A code stands for (code - less)·scale + offset, rounded once; the sum's is rne(sum·inverse + before) + after.
struct CodesSum {
    float scale, less, offset, other_scale, other_less, other_offset;
    float inverse, before, low, high;  // the bounds are those of a code less `after`
    std::int32_t after;
    bool relu;  // in real numbers, in front of the last rounding
    bool plain;  // nothing is taken off a code, and no sum comes near what 32 bits hold
};

// As `dequantize`, `add` and `quantize_per_tensor` round, or, where it is one op on codes, as that does, which is PyTorch's.
CodesSum codes_sum(const CodesIn& a, const CodesIn& b, double scale, std::int64_t zero, std::int64_t low, std::int64_t high, bool relu,
                   bool one_op);

// Of so many codes, over the first of them or elsewhere.
void sum_codes(const std::uint8_t* codes, const std::uint8_t* others, const CodesSum& sum, std::int64_t count, std::uint8_t* out);
// What a table of 256 has for each of them.
void look_up_codes(const std::uint8_t* codes, const std::uint8_t* table, std::int64_t count, std::uint8_t* out);

void bind_codes(nb::module_& module);

}  // namespace workbench
