#pragma once

#include "layout.hpp"

namespace workbench {

// Rows of a table in codes: row = (codes - zero)·scale, each with its own; two codes of four bits lie in a byte where `bits` is 4.
struct TableOfCodes {
    const std::uint8_t* codes;
    std::int64_t step, width;  // bytes and codes of a row
    int bits;
    const float *scales, *zeros;
};

void bind_tables_of_codes(nb::module_& module);

}  // namespace workbench
