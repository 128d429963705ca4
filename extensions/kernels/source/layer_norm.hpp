#pragma once

#include "layout.hpp"

namespace workbench {

void bind_layer_norm(nb::module_& module);

}  // namespace workbench
