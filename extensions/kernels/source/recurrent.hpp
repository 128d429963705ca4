// Recurrent layers over a whole sequence, and their gradients.
#pragma once

#include "layout.hpp"

namespace workbench {

void bind_recurrent(nb::module_& module);

}  // namespace workbench
