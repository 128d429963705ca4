// x[key], x[key] = value and x.shape, of plain arrays; `workbench.tensor.subscripts` does the rest.
#pragma once

#include "types.hpp"

namespace workbench::eager {

// A key of plain integers, slices, new dims and an ellipsis as a tuple with an entry for each dim, as
// workbench.ops.index.indexing writes it. nullptr without an exception for any other key, and for a wrong one.
PyObject* simple_key(PyObject* key, int dims);

PyObject* subscript(PyObject* self, PyObject* key);
PyObject* subscript_at(PyObject* self, Py_ssize_t place);
int set_subscript(PyObject* self, PyObject* key, PyObject* value);
PyObject* get_shape(PyObject* self, void*);

// use_subscripts(index, getitem, setitem): the op that shows parts, and what is called where the key is not plain.
PyObject* use_subscripts(PyObject* module, PyObject* args);

bool intern_key();

} // namespace workbench::eager
