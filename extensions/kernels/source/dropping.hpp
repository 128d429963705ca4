#pragma once

#include "layout.hpp"

namespace workbench {

void bind_dropping(nb::module_& module);

}  // namespace workbench
