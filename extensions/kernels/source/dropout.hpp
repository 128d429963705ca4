#pragma once

#include "layout.hpp"

namespace workbench {

void bind_dropout_ops(nb::module_& module);

}  // namespace workbench
