#pragma once

#include <Python.h>

namespace workbench::eager {

// optimizer_step(rule, state, parameters, keys, settings, first): one step of all parameters that it can take, and the
// list of those that have a gradient and were left as they are.
PyObject* optimizer_step(PyObject*, PyObject* const* args, Py_ssize_t n);

} // namespace workbench::eager
