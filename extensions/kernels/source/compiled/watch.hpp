#pragma once

#include <nanobind/nanobind.h>

namespace workbench::compiled {

void bind_watch(nanobind::module_& room);

}  // namespace workbench::compiled
