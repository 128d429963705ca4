#pragma once

#include "layout.hpp"

namespace workbench {

enum class Reduction : int { sum, mean, amax, amin };

void bind_reduce(nb::module_& module);

}  // namespace workbench
