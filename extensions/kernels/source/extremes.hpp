#pragma once

#include "layout.hpp"

namespace workbench {

void bind_extremes(nb::module_& module);

}  // namespace workbench
