// Numbers written into memory that is there, where nobody can tell: into plain arrays, with nothing recorded and nobody
// looking on. Everything else, and every refusal, is `workbench.core.inplace`'s.
#pragma once

#include "types.hpp"

namespace workbench::eager {

// Of these each says whether it wrote: 1, or 0 where the call is not a common one and nothing was done; -1 with an
// exception.

// target[key] = value
int set_part(PyObject* target, PyObject* key, PyObject* value);

// written(target, op, operands), filled(target, number), copied(target, source): the same for Python, as a bool.
PyObject* written(PyObject* module, PyObject* const* args, Py_ssize_t n);
PyObject* filled(PyObject* module, PyObject* const* args, Py_ssize_t n);
PyObject* copied(PyObject* module, PyObject* const* args, Py_ssize_t n);

} // namespace workbench::eager
