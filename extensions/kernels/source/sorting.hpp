#pragma once

#include "layout.hpp"

namespace workbench {

void bind_order(nb::module_& module);

}  // namespace workbench
