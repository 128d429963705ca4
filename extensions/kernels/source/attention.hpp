// Attention: averages of values by how well their keys match a query, and its gradient.
#pragma once

#include "layout.hpp"

namespace workbench {

void bind_attention(nb::module_& module);

}  // namespace workbench
