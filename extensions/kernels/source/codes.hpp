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

void bind_codes(nb::module_& module);

}  // namespace workbench
