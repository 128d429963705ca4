#pragma once

#include "layout.hpp"

namespace workbench {

void bind_quantized_recurrent(nb::module_& module);

}  // namespace workbench
