#include "joining.hpp"

#include <cstring>

namespace workbench::eager {
namespace {

constexpr npy_intp MOST = 1 << 14; // bytes: beyond them NumPy's way in and out is no longer what counts

bool word_is(PyObject* kwnames, Py_ssize_t i, const char* word) {
    return PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), word) == 0;
}

// Reads the dim of ``cat(…, dim=)`` and ``stack(…, dim=, name=None)``; -1 for anything else.
npy_intp read_dim(Small small, PyObject* const* values, PyObject* kwnames) {
    const Py_ssize_t words = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    if (words != (small == Small::stack ? 2 : 1) || !word_is(kwnames, 0, "dim") || !PyLong_CheckExact(values[0])) return -1;
    if (words == 2 && (!word_is(kwnames, 1, "name") || values[1] != Py_None)) return -1;
    int overflow = 0;
    const npy_intp dim = PyLong_AsLongLongAndOverflow(values[0], &overflow);
    return overflow ? -1 : dim;
}

bool plain(PyObject* one, int type, int dims) {
    if (!PyArray_CheckExact(one) || !PyArray_ISCARRAY_RO(as_array(one))) return false;
    return PyArray_TYPE(as_array(one)) == type && PyArray_NDIM(as_array(one)) == dims;
}

} // namespace

PyObject* joined(Small small, PyObject* const* arrays, Py_ssize_t n, PyObject* const* values, PyObject* kwnames) {
    const bool stacks = small == Small::stack;
    const npy_intp dim = read_dim(small, values, kwnames);
    if (!PyArray_CheckExact(arrays[0])) return nullptr;
    PyArrayObject* first = as_array(arrays[0]);
    const int type = PyArray_TYPE(first), dims = PyArray_NDIM(first);
    if (dim < 0 || dim >= dims + stacks || dims + stacks > NPY_MAXDIMS || (!PyTypeNum_ISNUMBER(type) && type != NPY_BOOL)) return nullptr;
    npy_intp sizes[NPY_MAXDIMS], rows = 1, bytes = 0, along = 0;
    for (int d = 0; d < dim; ++d) rows *= PyArray_DIM(first, d);
    for (Py_ssize_t i = 0; i < n; ++i) {
        if (!plain(arrays[i], type, dims)) return nullptr;
        PyArrayObject* one = as_array(arrays[i]);
        for (int d = 0; d < dims; ++d)
            if (PyArray_DIM(one, d) != PyArray_DIM(first, d) && (stacks || d != dim)) return nullptr;
        along += stacks ? 1 : PyArray_DIM(one, static_cast<int>(dim));
        bytes += PyArray_NBYTES(one);
    }
    if (bytes > MOST) return nullptr;
    for (int d = 0, own = 0; d < dims + stacks; ++d) {
        sizes[d] = d == dim ? along : PyArray_DIM(first, own);
        own += !(stacks && d == dim);
    }
    PyObject* out = PyArray_SimpleNew(dims + stacks, sizes, type);
    if (!out || bytes == 0) return out;
    char* to = PyArray_BYTES(as_array(out));
    for (npy_intp row = 0; row < rows; ++row)
        for (Py_ssize_t i = 0; i < n; ++i) {
            PyArrayObject* one = as_array(arrays[i]);
            const npy_intp part = PyArray_NBYTES(one) / rows;
            std::memcpy(to, PyArray_BYTES(one) + row * part, part);
            to += part;
        }
    return out;
}

} // namespace workbench::eager
