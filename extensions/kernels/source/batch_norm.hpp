#pragma once

#include "layout.hpp"

namespace workbench {

void bind_normalisation(nb::module_& module);

}  // namespace workbench
