#pragma once

#include "layout.hpp"

namespace workbench {

void bind_nll_loss(nb::module_& module);

}  // namespace workbench
