#pragma once

#include "layout.hpp"

namespace workbench {

// Scales and zero points of a run of elements: `step` 0 for one pair throughout, 1 for one pair an element.
struct Grid {
    const float* scales;
    const float* inverses;  // 1 / scale in float32
    const float* zeros;
    std::int64_t step;
};

void bind_quantize(nb::module_& module);

}  // namespace workbench
