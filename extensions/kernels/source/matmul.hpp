#pragma once

#include "layout.hpp"

namespace workbench {

void bind_matmul(nb::module_& module);

}  // namespace workbench
