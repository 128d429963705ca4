#pragma once

#include "bfloat16.hpp"
#include "layout.hpp"

namespace workbench {

// Values that lie one behind the other, rounded to the nearest: the same bits on every processor.
void cast_values(const float* from, std::int64_t count, bfloat16* to);
void cast_values(const bfloat16* from, std::int64_t count, float* to);

void bind_casts(nb::module_& module);

}  // namespace workbench
