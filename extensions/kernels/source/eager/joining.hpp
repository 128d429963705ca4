// Small arrays put one after another, along a dim or along a new one.
#pragma once

#include "types.hpp"

namespace workbench::eager {

// What `cat` and `stack` give with these parameters (the values, then their words), of arrays of one type in rows; nullptr
// without an exception for all others, and where there is something to refuse.
PyObject* joined(Small small, PyObject* const* arrays, Py_ssize_t n, PyObject* const* values, PyObject* kwnames);

} // namespace workbench::eager
