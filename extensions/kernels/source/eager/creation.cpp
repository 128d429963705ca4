#include "creation.hpp"

#include "call.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace workbench::eager {
namespace {

PyObject* word_name = nullptr;
PyObject* word_origin = nullptr;

// Says whether the lines of a module are not the user's: those of this package and of NumPy, as in
// workbench.base.source_location.
bool not_theirs(PyObject* globals) {
    PyObject* name = PyDict_GetItemWithError(globals, word_name);
    const char* text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
    if (!text) {
        PyErr_Clear();
        return false;
    }
    return std::strncmp(text, "workbench.", 10) == 0 || std::strncmp(text, "numpy.", 6) == 0;
}

// Notes the line of the program that is running; false with an exception.
bool note_line(PyObject* value) {
    PyFrameObject* frame = PyEval_GetFrame();
    Ref held(Py_XNewRef(reinterpret_cast<PyObject*>(frame)));
    while (held) {
        frame = reinterpret_cast<PyFrameObject*>(held.object);
        Ref globals(PyFrame_GetGlobals(frame));
        if (!not_theirs(globals.object)) break;
        held = Ref(reinterpret_cast<PyObject*>(PyFrame_GetBack(frame)));
    }
    if (!held) return true;
    Ref code(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    Ref line(PyLong_FromLong(PyFrame_GetLineNumber(frame)));
    Ref origin(line ? PyTuple_Pack(2, reinterpret_cast<PyCodeObject*>(code.object)->co_filename, line.object) : nullptr);
    return origin && PyObject_SetAttr(value, word_origin, origin.object) == 0;
}

PyObject* noted_value(PyObject* array, PyObject* names) {
    Ref value(reinterpret_cast<PyObject*>(made(array, names)));
    return value && note_line(value.object) ? value.release() : nullptr;
}

// Reads plain sizes, none of them negative, whose product has addresses; -1 for all others.
int read_sizes(PyObject* given, npy_intp* sizes) {
    if (!PyTuple_Check(given)) return -1;
    if (PyTuple_GET_SIZE(given) == 1 && !PyLong_CheckExact(PyTuple_GET_ITEM(given, 0))) given = PyTuple_GET_ITEM(given, 0);
    if (!PyTuple_Check(given) && !PyList_Check(given)) return -1;
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(given);
    if (count > NPY_MAXDIMS) return -1;
    npy_intp bytes = 16; // of the widest values
    for (Py_ssize_t d = 0; d < count; ++d) {
        PyObject* one = PySequence_Fast_GET_ITEM(given, d);
        int overflow = 0;
        sizes[d] = PyLong_CheckExact(one) ? PyLong_AsLongLongAndOverflow(one, &overflow) : -1;
        if (overflow || sizes[d] < 0 || __builtin_mul_overflow(bytes, sizes[d], &bytes)) return -1;
    }
    return static_cast<int>(count);
}

template <class T>
void fill(PyArrayObject* array, double number) {
    T* out = static_cast<T*>(PyArray_DATA(array));
    std::fill_n(out, PyArray_SIZE(array), static_cast<T>(number));
}

} // namespace

PyObject* noted(PyObject*, PyObject* const* args, Py_ssize_t n) {
    if (n != 2) {
        PyErr_SetString(PyExc_TypeError, "noted takes an array and names");
        return nullptr;
    }
    return noted_value(args[0], args[1]);
}

PyObject* filled_new(PyObject*, PyObject* const* args, Py_ssize_t n) {
    if (n != 3 || !PyArray_DescrCheck(args[1])) {
        PyErr_SetString(PyExc_TypeError, "filled_new takes sizes, a type of NumPy and a number or None");
        return nullptr;
    }
    bool grad = false;
    int common = common_state(grad);
    if (common < 0) return nullptr;
    auto* type = reinterpret_cast<PyArray_Descr*>(args[1]);
    const int number = type->type_num;
    npy_intp sizes[NPY_MAXDIMS];
    const int dims = common ? read_sizes(args[0], sizes) : -1;
    if (dims < 0 || (number != NPY_FLOAT && number != NPY_DOUBLE && number != NPY_INT64)) Py_RETURN_NONE;
    const double value = args[2] == Py_None ? 0 : PyFloat_AsDouble(args[2]);
    if (value == -1 && PyErr_Occurred()) return nullptr;
    if (number == NPY_FLOAT && std::isfinite(value) && std::abs(value) > std::numeric_limits<float>::max()) Py_RETURN_NONE;
    const bool zeros = args[2] != Py_None && value == 0 && !std::signbit(value);
    Py_INCREF(type);
    Ref array(zeros ? PyArray_Zeros(dims, sizes, type, 0) : PyArray_Empty(dims, sizes, type, 0));
    if (!array) return nullptr;
    if (!zeros && args[2] != Py_None) {
        if (number == NPY_FLOAT)
            fill<float>(as_array(array.object), value);
        else if (number == NPY_DOUBLE)
            fill<double>(as_array(array.object), value);
        else
            fill<npy_int64>(as_array(array.object), value);
    }
    return noted_value(array.object, nullptr);
}

bool intern_places() {
    word_name = PyUnicode_InternFromString("__name__");
    word_origin = PyUnicode_InternFromString("_origin");
    return word_name && word_origin;
}

} // namespace workbench::eager
