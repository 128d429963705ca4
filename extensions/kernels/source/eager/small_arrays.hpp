// Small arrays, computed without NumPy's way in and out.
#pragma once

#include "types.hpp"

namespace workbench::eager {

constexpr npy_intp SMALL = 1024; // values, at most

// Computes a small call from its arrays and, after them, its parameters as for a vectorcall; nullptr without an
// exception where it is none.
PyObject* small_call(Small small, PyObject* const* arrays, Py_ssize_t n, PyObject* kwnames);

} // namespace workbench::eager
