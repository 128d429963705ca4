// Tensors made from sizes alone, and where in the program a tensor was made.
#pragma once

#include "types.hpp"

namespace workbench::eager {

// noted(array, names): a value around an array, with the line of the program that made it.
PyObject* noted(PyObject* module, PyObject* const* args, Py_ssize_t n);

// filled_new(sizes, type, number): a new value of plain sizes, which stand alone or in one tuple or list; a number of None
// leaves memory as it is. None where this takes more thought, and for all that is refused.
PyObject* filled_new(PyObject* module, PyObject* const* args, Py_ssize_t n);

bool intern_places();

} // namespace workbench::eager
