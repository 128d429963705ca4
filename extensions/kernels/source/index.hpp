#pragma once

#include "layout.hpp"

namespace workbench {

void bind_index(nb::module_& module);

}  // namespace workbench
