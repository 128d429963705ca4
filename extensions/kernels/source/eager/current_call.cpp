#include "current_call.hpp"


#include <algorithm>

namespace workbench::eager {

namespace {

constexpr Py_ssize_t MOST_CACHED = 512;

PyObject* word_kernel = nullptr;
PyObject* word_half_kernel = nullptr;
PyObject* word_accepts = nullptr;
PyObject* word_run = nullptr;
PyObject* word_least = nullptr;

PyObject* parameters(PyObject* const* values, PyObject* kwnames) {
    Ref params(PyDict_New());
    if (!params || !kwnames) return params.release();
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kwnames); ++i)
        if (PyDict_SetItem(params.object, PyTuple_GET_ITEM(kwnames, i), values[i]) < 0) return nullptr;
    return params.release();
}

// The same parameter as something that has a hash: a slice has none in older Pythons, its edges have.
PyObject* hashable(PyObject* parameter) {
    if (PySlice_Check(parameter)) {
        auto* slice = reinterpret_cast<PySliceObject*>(parameter);
        return PyTuple_Pack(4, reinterpret_cast<PyObject*>(&PySlice_Type), slice->start, slice->stop, slice->step);
    }
    Py_ssize_t n = PyTuple_CheckExact(parameter) ? PyTuple_GET_SIZE(parameter) : 0;
    PyObject** items = reinterpret_cast<PyTupleObject*>(parameter)->ob_item;
    if (!n || std::none_of(items, items + n, [](PyObject* one) { return PySlice_Check(one); })) return Py_NewRef(parameter);
    Ref other(PyTuple_New(n));
    for (Py_ssize_t i = 0; other && i < n; ++i) {
        PyObject* item = hashable(items[i]);
        if (!item) return nullptr;
        PyTuple_SET_ITEM(other.object, i, item);
    }
    return other.release();
}

} // namespace

bool recoverable() {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return false;
    PyErr_Clear();
    return true;
}

PyObject* tuple_of(PyObject* const* values, Py_ssize_t n) {
    PyObject* tuple = PyTuple_New(n);
    for (Py_ssize_t i = 0; tuple && i < n; ++i) PyTuple_SET_ITEM(tuple, i, Py_NewRef(values[i]));
    return tuple;
}

PyObject* shape_of(PyArrayObject* array) {
    Ref shape(PyTuple_New(PyArray_NDIM(array)));
    for (int d = 0; shape && d < PyArray_NDIM(array); ++d) {
        PyObject* size = PyLong_FromSsize_t(PyArray_DIM(array, d));
        if (!size) return nullptr;
        PyTuple_SET_ITEM(shape.object, d, size);
    }
    return shape.release();
}

PyObject* Call::params() {
    if (!kept) kept = Ref(parameters(args + n, kwnames));
    return kept.object;
}

namespace {

// Names, shapes and parameters, on which alone the names of the outputs depend. The labels of a parameter count as names
// where another input has names, see workbench.core.outcome.
PyObject* key_of(const Call& call) {
    const Py_ssize_t n = call.n, words = call.words();
    PyObject* const* args = call.args;
    Ref key(PyTuple_New(2 * n + 2 * words));
    if (!key) return nullptr;
    bool named = call.any_named();
    for (Py_ssize_t i = 0; i < n; ++i) {
        bool value = is_value(args[i]);
        PyObject* names = value ? as_value(args[i])->names : nullptr;
        if (named && value && !some(names)) names = as_value(args[i])->labels;
        PyTuple_SET_ITEM(key.object, 2 * i, Py_NewRef(names ? names : Py_None));
        PyObject* shape = value ? shape_of(as_array(call.arrays[i])) : Py_NewRef(Py_None);
        if (!shape) return nullptr;
        PyTuple_SET_ITEM(key.object, 2 * i + 1, shape);
    }
    for (Py_ssize_t i = 0; i < words; ++i) {
        PyTuple_SET_ITEM(key.object, 2 * n + 2 * i, Py_NewRef(PyTuple_GET_ITEM(call.kwnames, i)));
        PyObject* parameter = hashable(args[n + i]);
        if (!parameter) return nullptr;
        PyTuple_SET_ITEM(key.object, 2 * n + 2 * i + 1, parameter);
    }
    return key.release();
}

} // namespace

PyObject* Call::names_by_rule() {
    Ref known_as(key_of(*this));
    if (!known_as) return nullptr;
    PyObject* found = PyDict_GetItemWithError(op->cache, known_as.object);
    if (found) return Py_NewRef(found);
    bool cached = !PyErr_Occurred();
    if (!cached && !recoverable()) return nullptr; // a parameter that has no hash, such as a slice or an array
    Ref inputs(tuple_of(args, n));
    if (!inputs || !params()) return nullptr;
    PyObject* arguments[] = {reinterpret_cast<PyObject*>(op), inputs.object, params()};
    Ref names(call_python(known.names_of, arguments, 3, nullptr));
    if (!names) return nullptr;
    if (!PyTuple_Check(names.object) || PyTuple_GET_SIZE(names.object) != op->outputs) {
        PyErr_Format(PyExc_RuntimeError, "the dims rule of %R gave other than the dims of %d outputs", op, op->outputs);
        return nullptr;
    }
    if (cached) {
        if (PyDict_GET_SIZE(op->cache) >= MOST_CACHED) PyDict_Clear(op->cache);
        if (PyDict_SetItem(op->cache, known_as.object, names.object) < 0) return nullptr;
    }
    return names.release();
}

PyObject* Call::by_kernel(bool halves) {
    Ref kernel(look_up(reinterpret_cast<PyObject*>(op), halves ? word_half_kernel : word_kernel));
    if (!kernel || kernel.object == Py_None) return nullptr;
    Ref least(look_up(kernel.object, word_least));
    npy_intp bound = least ? PyLong_AsSsize_t(least.object) : -1;
    if ((bound == -1 && PyErr_Occurred()) || size < bound) return nullptr;
    Ref accepts(look_up(kernel.object, word_accepts));
    Ref answer(accepts ? call_python(accepts.object, arrays.data(), n, kwnames) : nullptr);
    if (!answer || PyObject_IsTrue(answer.object) != 1) return nullptr;
    Ref run(look_up(kernel.object, word_run));
    return run ? call_python(run.object, arrays.data(), n, kwnames) : nullptr;
}

bool intern_kernels() {
    word_kernel = PyUnicode_InternFromString("kernel");
    word_half_kernel = PyUnicode_InternFromString("half_kernel");
    word_accepts = PyUnicode_InternFromString("accepts");
    word_run = PyUnicode_InternFromString("run");
    word_least = PyUnicode_InternFromString("least");
    return word_kernel && word_half_kernel && word_accepts && word_run && word_least;
}

} // namespace workbench::eager
