// The common call of an op (plain arrays of one type, no interpreter looking on) from its arguments to its recorded
// result, without Python in the way.
//
// Whatever is not common goes to `workbench.core.dispatch.apply`, which does the same for every call, and says what is
// wrong with one that cannot be done. The two must agree; tests/core compares them.
#pragma once

#include <Python.h>

namespace workbench::eager {

// What calling an op does.
PyObject* call_op(PyObject* self, PyObject* const* args, size_t flags, PyObject* kwnames);

bool intern_words();

} // namespace workbench::eager
