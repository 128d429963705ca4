#pragma once

#include "layout.hpp"

namespace workbench {

// How one dim is resampled: for each place of the result which `taps` places it reads, and their weights in whole numbers of 2^-shift.
struct CodesAlong {
    std::int64_t size, places, taps;
    const std::int64_t* reads;
    const std::int32_t* weights;
};

constexpr int resampled_shift = 15;

void bind_codes_resample(nb::module_& module);

}  // namespace workbench
