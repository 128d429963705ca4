// The way back over the tape.
#pragma once

#include <Python.h>

namespace workbench::eager {

// recall(node, call_type): the recorded call, connected to the tape; None where something about it wants thought.
PyObject* recall(PyObject*, PyObject* const* args, Py_ssize_t n);

// walk(starts, retain, call_type, add, fitting, hooks, after, sink): the plain walk over the tape, from pairs of a value
// and its gradient to the leaves, each of which `sink` is told of with the sum of its gradients.
PyObject* walk(PyObject*, PyObject* const* args, Py_ssize_t n);

} // namespace workbench::eager
