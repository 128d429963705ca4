// Long Fourier transforms.
#pragma once

#include "layout.hpp"

namespace workbench {

void bind_fourier(nb::module_& module);

}  // namespace workbench
