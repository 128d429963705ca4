#pragma once

#include "layout.hpp"

namespace workbench {

void bind_group_norm(nb::module_& module);

}  // namespace workbench
