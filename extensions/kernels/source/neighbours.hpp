#pragma once

#include "layout.hpp"

namespace workbench {

void bind_neighbours(nb::module_& module);

}  // namespace workbench
