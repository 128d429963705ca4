#pragma once

#include <optional>
#include <utility>

#include "layout.hpp"

namespace workbench {

using Pair = std::pair<std::int64_t, std::int64_t>;  // (height, width)

void bind_convolution(nb::module_& module);

}  // namespace workbench
