#include "views.hpp"

namespace workbench::eager {
namespace {

// Sizes and strides over the memory of an array, which begin at a place of it.
struct Geometry {
    int dims = 0;
    npy_intp sizes[NPY_MAXDIMS];
    npy_intp strides[NPY_MAXDIMS];
    char* start;

    explicit Geometry(PyArrayObject* array) : start(PyArray_BYTES(array)) {}

    bool add(npy_intp size, npy_intp stride) {
        if (dims == NPY_MAXDIMS) return false;
        sizes[dims] = size;
        strides[dims++] = stride;
        return true;
    }

    // The view itself, which may be written to where `flags` say so.
    PyObject* over(PyObject* one, int flags) {
        PyArray_Descr* type = PyArray_DESCR(as_array(one));
        Py_INCREF(type);
        PyObject* view = PyArray_NewFromDescr(&PyArray_Type, type, dims, sizes, strides, start, flags, nullptr);
        if (view && PyArray_SetBaseObject(as_array(view), Py_NewRef(one)) < 0) Py_CLEAR(view);
        return view;
    }
};

int writeable(PyArrayObject* array) { return PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE; }

// Reads a plain int; false, without an exception, for anything else.
bool plain(PyObject* one, npy_intp& number) {
    if (!PyLong_CheckExact(one)) return false;
    int overflow = 0;
    long long found = PyLong_AsLongLongAndOverflow(one, &overflow);
    number = static_cast<npy_intp>(found);
    return !overflow;
}

bool plain_edge(PyObject* one) { return one == Py_None || PyLong_CheckExact(one); }

// Reads a slice of plain edges that counts forwards, along a dim of so many entries.
bool read_slice(PyObject* one, npy_intp size, npy_intp& start, npy_intp& step, npy_intp& count) {
    auto* slice = reinterpret_cast<PySliceObject*>(one);
    if (!plain_edge(slice->start) || !plain_edge(slice->stop) || !plain_edge(slice->step)) return false;
    Py_ssize_t first, stop, by;
    if (PySlice_Unpack(one, &first, &stop, &by) < 0) {
        PyErr_Clear(); // a step of 0: the op's own code says so
        return false;
    }
    if (by <= 0) return false;
    count = PySlice_AdjustIndices(size, &first, &stop, by);
    start = count ? first : 0;
    step = by;
    return true;
}

// Reads a tuple of plain ints; -1 for anything else, and for too many.
int read_all(PyObject* tuple, npy_intp* numbers) {
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) > NPY_MAXDIMS) return -1;
    int count = static_cast<int>(PyTuple_GET_SIZE(tuple));
    for (int i = 0; i < count; ++i)
        if (!plain(PyTuple_GET_ITEM(tuple, i), numbers[i])) return -1;
    return count;
}

PyObject* permuted(PyObject* one, PyObject* order) {
    PyArrayObject* array = as_array(one);
    npy_intp dims[NPY_MAXDIMS];
    int count = read_all(order, dims);
    if (count != PyArray_NDIM(array)) return nullptr;
    bool used[NPY_MAXDIMS] = {};
    Geometry view(array);
    for (int d = 0; d < count; ++d) {
        if (dims[d] < 0 || dims[d] >= count || used[dims[d]]) return nullptr;
        used[dims[d]] = true;
        view.add(PyArray_DIM(array, static_cast<int>(dims[d])), PyArray_STRIDE(array, static_cast<int>(dims[d])));
    }
    return view.over(one, writeable(array));
}

// The same values under sizes that hold as many: a view where strides allow it.
PyObject* resized(PyObject* one, npy_intp* sizes, int count) {
    PyArrayObject* array = as_array(one);
    if (!PyArray_IS_C_CONTIGUOUS(array) || PyArray_SIZE(array) == 0) {
        PyArray_Dims dims{sizes, count};
        return PyArray_Newshape(array, &dims, NPY_CORDER);
    }
    Geometry view(array);
    view.dims = count;
    npy_intp stride = PyArray_ITEMSIZE(array);
    for (int d = count - 1; d >= 0; --d) {
        view.sizes[d] = sizes[d];
        view.strides[d] = stride;
        stride *= sizes[d];
    }
    return view.over(one, writeable(array));
}

PyObject* reshaped(PyObject* one, PyObject* wanted) {
    npy_intp sizes[NPY_MAXDIMS];
    int count = read_all(wanted, sizes), open = -1;
    if (count < 0) return nullptr;
    npy_intp known = 1, size = PyArray_SIZE(as_array(one));
    for (int d = 0; d < count; ++d) {
        if (sizes[d] == -1 && open < 0)
            open = d;
        else if (sizes[d] < 0 || __builtin_mul_overflow(known, sizes[d], &known))
            return nullptr;
    }
    if (open >= 0) {
        if (known == 0 || size % known) return nullptr;
        known *= sizes[open] = size / known;
    }
    return known == size ? resized(one, sizes, count) : nullptr;
}

PyObject* with_new_dim(PyObject* one, PyObject* place) {
    PyArrayObject* array = as_array(one);
    npy_intp at, sizes[NPY_MAXDIMS];
    int dims = PyArray_NDIM(array);
    if (!plain(place, at) || at < 0 || at > dims || dims == NPY_MAXDIMS) return nullptr;
    for (int d = 0; d <= dims; ++d) sizes[d] = d == at ? 1 : PyArray_DIM(array, d < at ? d : d - 1);
    return resized(one, sizes, dims + 1);
}

PyObject* without_dims(PyObject* one, PyObject* places) {
    PyArrayObject* array = as_array(one);
    npy_intp taken[NPY_MAXDIMS];
    int count = read_all(places, taken), dims = PyArray_NDIM(array);
    if (count < 0) return nullptr;
    if (count == 0) return Py_NewRef(one); // as NumPy has it: the very array
    bool gone[NPY_MAXDIMS] = {};
    for (int i = 0; i < count; ++i) {
        if (taken[i] < 0 || taken[i] >= dims || gone[taken[i]]) return nullptr;
        if (PyArray_DIM(array, static_cast<int>(taken[i])) != 1) return nullptr;
        gone[taken[i]] = true;
    }
    Geometry view(array);
    for (int d = 0; d < dims; ++d)
        if (!gone[d]) view.add(PyArray_DIM(array, d), PyArray_STRIDE(array, d));
    return view.over(one, writeable(array));
}

PyObject* flattened(PyObject* one, PyObject* first, PyObject* last) {
    PyArrayObject* array = as_array(one);
    npy_intp start, end, sizes[NPY_MAXDIMS];
    int dims = PyArray_NDIM(array), count = 0;
    if (!plain(first, start) || !plain(last, end) || start < 0 || end < start || end >= dims) return nullptr;
    for (int d = 0; d < dims; ++d) {
        if (d > start && d <= end)
            sizes[count - 1] *= PyArray_DIM(array, d);
        else
            sizes[count++] = PyArray_DIM(array, d);
    }
    return resized(one, sizes, count);
}

// Says whether the words are these; an unused one is nullptr.
bool words_are(PyObject* kwnames, const char* first, const char* second = nullptr, const char* third = nullptr) {
    const char* words[] = {first, second, third};
    Py_ssize_t count = third ? 3 : second ? 2 : 1;
    if (!kwnames || PyTuple_GET_SIZE(kwnames) != count) return false;
    for (Py_ssize_t i = 0; i < count; ++i)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), words[i]) != 0) return false;
    return true;
}

} // namespace

PyObject* part(PyObject* one, PyObject* key) {
    if (!PyArray_CheckExact(one) || !PyTuple_CheckExact(key)) return nullptr;
    PyArrayObject* array = as_array(one);
    const Py_ssize_t count = PyTuple_GET_SIZE(key);
    int dims = PyArray_NDIM(array), used = 0, axis = 0;
    bool open = true; // an ellipsis, or all that is left, has not been written out yet
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* entry = PyTuple_GET_ITEM(key, i);
        used += entry != Py_None && entry != Py_Ellipsis;
    }
    if (used > dims) return nullptr;
    Geometry view(array);
    for (Py_ssize_t i = 0; i <= count; ++i) {
        PyObject* entry = i < count ? PyTuple_GET_ITEM(key, i) : Py_Ellipsis;
        if (entry == Py_Ellipsis) {
            if (!open && i < count) return nullptr; // a second one
            for (int left = open ? dims - used : 0; left > 0; --left, ++axis)
                if (!view.add(PyArray_DIM(array, axis), PyArray_STRIDE(array, axis))) return nullptr;
            open = false;
        } else if (entry == Py_None) {
            if (!view.add(1, 0)) return nullptr;
        } else if (PySlice_Check(entry)) {
            npy_intp start, step, length, stride = PyArray_STRIDE(array, axis);
            if (!read_slice(entry, PyArray_DIM(array, axis), start, step, length)) return nullptr;
            view.start += start * stride;
            if (length && __builtin_mul_overflow(stride, step, &stride)) return nullptr;
            if (!view.add(length, stride)) return nullptr;
            ++axis;
        } else {
            npy_intp at, size = PyArray_DIM(array, axis);
            if (!plain(entry, at) || at < -size || at >= size) return nullptr;
            view.start += (at < 0 ? at + size : at) * PyArray_STRIDE(array, axis);
            ++axis;
        }
    }
    return view.over(one, writeable(array));
}

PyObject* shown(Small small, PyObject* array, PyObject* const* values, PyObject* kwnames) {
    if (!PyArray_CheckExact(array)) return nullptr;
    switch (small) {
        case Small::index: return words_are(kwnames, "key") ? part(array, values[0]) : nullptr;
        case Small::permute: return words_are(kwnames, "dim") ? permuted(array, values[0]) : nullptr;
        case Small::reshape: return words_are(kwnames, "sizes") ? reshaped(array, values[0]) : nullptr;
        case Small::expand: return words_are(kwnames, "sizes") ? stretch(array, values[0]) : nullptr;
        case Small::squeeze: return words_are(kwnames, "dim") ? without_dims(array, values[0]) : nullptr;
        case Small::unsqueeze:
            return words_are(kwnames, "dim", "name") && values[1] == Py_None ? with_new_dim(array, values[0]) : nullptr;
        case Small::flatten:
            return words_are(kwnames, "start", "end", "name") && values[2] == Py_None
                       ? flattened(array, values[0], values[1])
                       : nullptr;
        default: return nullptr;
    }
}

PyObject* stretch(PyObject* one, PyObject* wanted) {
    if (!PyArray_CheckExact(one)) return nullptr;
    PyArrayObject* array = as_array(one);
    npy_intp sizes[NPY_MAXDIMS];
    int dims = read_all(wanted, sizes);
    int extra = dims - PyArray_NDIM(array);
    if (dims < 0 || extra < 0) return nullptr;
    Geometry view(array);
    for (int d = 0; d < dims; ++d) {
        int own = d - extra;
        npy_intp here = own < 0 ? 1 : PyArray_DIM(array, own);
        npy_intp size = sizes[d] == -1 && own >= 0 ? here : sizes[d];
        if (size < 0 || (here != size && here != 1)) return nullptr;
        view.add(size, here == size && own >= 0 ? PyArray_STRIDE(array, own) : 0);
    }
    // Several values at one place are not to be written to.
    return view.over(one, 0);
}

} // namespace workbench::eager
