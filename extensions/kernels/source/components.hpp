#pragma once

#include "layout.hpp"

namespace workbench {

void bind_components(nb::module_& module);

}  // namespace workbench
