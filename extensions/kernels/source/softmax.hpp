#pragma once

#include "layout.hpp"

namespace workbench {

void bind_softmax(nb::module_& module);

}  // namespace workbench
