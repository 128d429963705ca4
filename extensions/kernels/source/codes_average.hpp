#pragma once

#include "layout.hpp"

namespace workbench {

// Three spatial dims of an image that lies channels-last, and steps in memory from one place to the next.
struct CodesBox {
    std::int64_t from[3], to[3], step[3];
    std::int64_t channels;
};

// Windows over three spatial dims of a plane that lies row by row: where they begin and end along each.
struct CodesWindows {
    std::int64_t sizes[3], places[3];
    const std::int64_t *begins[3], *ends[3];
};

// What sums become: codes from `low` on of the sum times a factor, and the zero point.
struct CodesMean {
    float factor, low;
    std::int32_t zero;
    std::uint8_t flip;  // the bits by which signed codes differ from unsigned ones
};

// The means of whole planes of unsigned codes [N, C, H, W] that lie channels-last, as [N, C].
void average_planes_of_codes(const std::uint8_t* images, const Dims& sizes, std::int32_t zero, std::uint8_t* out);

void bind_codes_average(nb::module_& module);

}  // namespace workbench
