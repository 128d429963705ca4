#pragma once

#include "layout.hpp"

namespace workbench {

// What one pass over values finds. Sums and extremes are of the finite ones.
struct Moments {
    double mean, deviation;  // of `finite` values: their mean and the sum of squared distances from it
    float least, largest;
    std::int64_t finite, nan, infinite, zero;
};

// Equal bins over [low, high]; the last one has both of its ends.
struct Bins {
    double low, high, per_unit;
    std::int64_t count;
};

void bind_statistics(nb::module_& module);

}  // namespace workbench
