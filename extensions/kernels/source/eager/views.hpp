// What views show: other sizes and strides over the same memory, worked out without NumPy's Python code.
#pragma once

#include "types.hpp"

namespace workbench::eager {

// What a view op with these parameters (the values, then their words) shows of an array. nullptr without an exception
// where its own code has to look: at parameters that are not plain, and at all that it refuses.
PyObject* shown(Small small, PyObject* array, PyObject* const* values, PyObject* kwnames);

// A view with dims of size 1 (and new ones on the left) repeated without copying; nullptr without an exception where the
// sizes do not fit.
PyObject* stretch(PyObject* array, PyObject* sizes);

// The part of an array that plain integers, slices, new dims and an ellipsis show; as `shown`.
PyObject* part(PyObject* array, PyObject* key);

} // namespace workbench::eager
