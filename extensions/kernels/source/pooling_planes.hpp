#pragma once

#include "layout.hpp"

namespace workbench {

void bind_pooling_planes(nb::module_& module);

}  // namespace workbench
