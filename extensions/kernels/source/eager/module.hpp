// Eager dispatch in C++: the bases of values, recorded calls and ops, and the common call of an op.
#pragma once

#include <Python.h>

namespace workbench {

// Adds the types and functions to the module; false with an exception set where that fails.
bool add_eager(PyObject* module);

} // namespace workbench
