#pragma once

#include "layout.hpp"

namespace workbench {

// Three spatial dims of an image that lies channels-last, and steps in memory from one place to the next.
struct CodesBox {
    std::int64_t from[3], to[3], step[3];
    std::int64_t channels;
};

void bind_codes_average(nb::module_& module);

}  // namespace workbench
