#include "current_call.hpp"

#include "call.hpp"
#include "small_arrays.hpp"

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

bool Call::look(bool grad) {
    if (n < 1 || n > MOST_INPUTS || words() > MOST_PARAMETERS) return false;
    int type = -1;
    bool odd = false; // some type is neither float nor double (nor whole, where the op takes that), or not the first's
    bool fraction = false, beyond = false; // some number is none of the whole ones of 64 bits
    for (Py_ssize_t i = 0; i < n; ++i) {
        PyObject* one = args[i];
        if (is_value(one)) {
            auto* value = as_value(one);
            if (!has_array(value) || (grad && stale(value)) || value->inference) return false;
            PyArrayObject* array = as_array(value->array);
            int number = PyArray_TYPE(array);
            if (op->keeps) {
                if (op->widens && number == known.bfloat16) half = true;
                else if (op->widens && (number == NPY_HALF || number >= NPY_USERDEF)) return false;
            } else if (i >= op->skip) {
                if (number == known.bfloat16) half = true;
                else if (number == NPY_INT64) odd |= !op->whole_numbers || (type >= 0 && number != type);
                else odd |= (number != NPY_FLOAT && number != NPY_DOUBLE) || (type >= 0 && number != type);
                type = number;
            }
            recorded |= value->requires_grad;
            moved |= value->changes != 0 || some(value->owner);
            large |= PyArray_NBYTES(array) > LARGE;
            size = std::max(size, PyArray_SIZE(array));
            one = value->array;
        } else if (PyFloat_CheckExact(one)) {
            fraction = true;
        } else if (PyLong_CheckExact(one)) {
            int overflow = 0;
            PyLong_AsLongLongAndOverflow(one, &overflow);
            beyond |= overflow != 0;
        } else if (one != Py_None) {
            return false;
        }
        arrays[held++] = Py_NewRef(one);
    }
    if (type == NPY_INT64 && (fraction || beyond)) return false; // they become floating, or wrap
    // What stands beside bfloat16 is for the kernel to judge: an op of this type without one casts first.
    return half || (!odd && (op->keeps || type >= 0));
}

bool Call::simple_names(PyObject*& names) {
    names = nullptr;
    for (Py_ssize_t i = 0; i < n; ++i) {
        if (!is_value(args[i])) continue;
        PyObject* here = as_value(args[i])->names;
        int dims = PyArray_NDIM(as_array(arrays[i]));
        if (!some(here) || dims == 0) {
            if (dims != 0) wants_rule = true;
            continue;
        }
        if (!names) {
            names = here;
        } else if (names != here) {
            int equal = PyObject_RichCompareBool(names, here, Py_EQ);
            if (equal < 0) PyErr_Clear();
            if (equal != 1) return false;
        }
    }
    return !(wants_rule && names); // named and unnamed together: the rule knows
}

PyObject* Call::key() {
    Ref key(PyTuple_New(2 * n + 2 * words()));
    if (!key) return nullptr;
    bool named = any_named();
    for (Py_ssize_t i = 0; i < n; ++i) {
        bool value = is_value(args[i]);
        PyObject* names = value ? as_value(args[i])->names : nullptr;
        if (named && value && !some(names)) names = as_value(args[i])->labels;
        PyTuple_SET_ITEM(key.object, 2 * i, Py_NewRef(names ? names : Py_None));
        PyObject* shape = value ? shape_of(as_array(arrays[i])) : Py_NewRef(Py_None);
        if (!shape) return nullptr;
        PyTuple_SET_ITEM(key.object, 2 * i + 1, shape);
    }
    for (Py_ssize_t i = 0; i < words(); ++i) {
        PyTuple_SET_ITEM(key.object, 2 * n + 2 * i, Py_NewRef(PyTuple_GET_ITEM(kwnames, i)));
        PyObject* parameter = hashable(args[n + i]);
        if (!parameter) return nullptr;
        PyTuple_SET_ITEM(key.object, 2 * n + 2 * i + 1, parameter);
    }
    return key.release();
}

PyObject* Call::names_by_rule() {
    Ref known_as(key());
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

PyObject* Call::by_kernel(PyObject* which) {
    Ref kernel(look_up(reinterpret_cast<PyObject*>(op), which));
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

PyObject* Call::compute() {
    std::copy(args + n, args + n + words(), arrays.data() + n);
    if (half) return by_kernel(word_half_kernel);
    if (shows(op->small)) {
        PyObject* out = show();
        if (out || PyErr_Occurred()) return out;
    } else if (op->small != Small::none && size <= SMALL) {
        PyObject* out = small_call(op->small, arrays.data(), n, kwnames);
        if (out || PyErr_Occurred()) return out;
    }
    PyObject* out = by_kernel(word_kernel);
    if (out || PyErr_Occurred()) return out;
    // Infinities and NaN are values like others: an op does not warn of them.
    Ref token(PyContextVar_Set(known.warnings, known.quiet));
    if (!token) return nullptr;
    out = call_python(op->forward, arrays.data(), n, kwnames);
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (PyContextVar_Reset(known.warnings, token.object) < 0) PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return out;
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
