#pragma once

#include "layout.hpp"

namespace workbench {

void bind_casts(nb::module_& module);

}  // namespace workbench
