// Small arrays, computed without NumPy's way in and out.
#pragma once

#include "types.hpp"

namespace workbench::eager {

constexpr npy_intp SMALL = 1024; // values, at most

// Computes a small call from its arrays and, after them, its parameters as for a vectorcall; nullptr without an
// exception where it is none.
PyObject* small_call(Small small, PyObject* const* arrays, Py_ssize_t n, PyObject* kwnames);

// The same of those that go along whole rows, in the type of the first array.
template <class T>
PyObject* small_rows(Small small, PyObject* const* arrays, Py_ssize_t n, PyObject* kwnames);

// However it lies.
inline bool plain(PyObject* array) { return PyArray_CheckExact(array) && PyArray_ISBEHAVED_RO(as_array(array)); }

inline bool simple(PyObject* array) { return PyArray_CheckExact(array) && PyArray_ISCARRAY_RO(as_array(array)); }

template <class T>
T* data(PyObject* array) {
    return static_cast<T*>(PyArray_DATA(as_array(array)));
}

// Says whether the parameter in this place has this name.
inline bool named(PyObject* kwnames, Py_ssize_t i, const char* word) {
    return PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), word) == 0;
}

// Reads a plain float or int; false, without an exception, for anything else.
inline bool number(PyObject* one, double& out) {
    if (PyFloat_CheckExact(one)) {
        out = PyFloat_AS_DOUBLE(one);
        return true;
    }
    int overflow = 0;
    if (!PyLong_CheckExact(one)) return false;
    out = static_cast<double>(PyLong_AsLongLongAndOverflow(one, &overflow));
    return !overflow;
}

} // namespace workbench::eager
