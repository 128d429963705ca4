#pragma once

#include "layout.hpp"

namespace workbench {

constexpr int nibble_outputs = 32;  // of a panel of weights of four bits: sixteen in the lower halves of its bytes

void bind_packed_nibbles(nb::module_& module);

}  // namespace workbench
