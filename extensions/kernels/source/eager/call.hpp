// The common call of an op (plain arrays of one type, no interpreter looking on) from its arguments to its recorded
// result, without Python in the way.
//
// Whatever is not common goes to `workbench.core.dispatch.apply`, which does the same for every call, and says what is
// wrong with one that cannot be done. The two must agree; tests/core compares them.
#pragma once

#include "types.hpp"

namespace workbench::eager {

// What calling an op does.
PyObject* call_op(PyObject* self, PyObject* const* args, size_t flags, PyObject* kwnames);

// A call where nobody looks on, or the whole way.
PyObject* common_call(Op* op, PyObject* const* args, Py_ssize_t n, PyObject* kwnames, bool grad);

// Says whether ops only compute or record here and now: nobody looks on. -1 with an exception.
int common_state(bool& grad);

// The value that a view views; nullptr where it views nothing.
const Value* viewed_by(const Value* value);

// Says whether a view's place on the tape may be out of date: its memory was changed by its owner's count, or what it
// views came to ask for a gradient and it does not.
bool stale(const Value* value);

} // namespace workbench::eager
