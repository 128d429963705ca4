#pragma once

#include "layout.hpp"

namespace workbench {

enum class DoubleFunction : int { sin, cos, sigmoid };

void bind_doubles(nb::module_& module);

}  // namespace workbench
