#include "subscript.hpp"

#include "call.hpp"
#include "writes.hpp"

namespace workbench::eager {
namespace {

PyObject* index_op = nullptr;
PyObject* whole_getitem = nullptr;
PyObject* whole_setitem = nullptr;
PyObject* words_key = nullptr; // ("key",)
PyObject* all_of_it = nullptr; // slice(None)

bool plain_edge(PyObject* one) { return one == Py_None || PyLong_CheckExact(one); }

bool plain_slice(PyObject* one) {
    if (!PySlice_Check(one)) return false;
    auto* slice = reinterpret_cast<PySliceObject*>(one);
    return plain_edge(slice->start) && plain_edge(slice->stop) && plain_edge(slice->step);
}

bool ready() {
    if (index_op) return true;
    PyErr_SetString(PyExc_RuntimeError, "values have no parts before workbench.tensor has been imported");
    return false;
}

} // namespace

PyObject* simple_key(PyObject* key, int dims) {
    if (PyLong_CheckExact(key) || plain_slice(key)) return dims ? PyTuple_Pack(1, key) : nullptr;
    PyObject** entries = &key;
    Py_ssize_t count = 1;
    if (PyTuple_CheckExact(key)) {
        entries = reinterpret_cast<PyTupleObject*>(key)->ob_item;
        count = PyTuple_GET_SIZE(key);
    } else if (key != Py_None) {
        return nullptr;
    }
    Py_ssize_t used = 0, ellipsis = -1;
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (PyLong_CheckExact(entries[i]) || plain_slice(entries[i]))
            ++used;
        else if (entries[i] == Py_Ellipsis && ellipsis < 0)
            ellipsis = i;
        else if (entries[i] != Py_None)
            return nullptr;
    }
    if (used > dims) return nullptr;
    if (ellipsis < 0 && used == dims && PyTuple_CheckExact(key)) return Py_NewRef(key);
    const Py_ssize_t fill = dims - used;
    PyObject* whole = PyTuple_New(count - (ellipsis >= 0) + fill);
    if (!whole) return nullptr;
    Py_ssize_t at = 0;
    for (Py_ssize_t i = 0; i <= count; ++i) {
        if (i == (ellipsis < 0 ? count : ellipsis))
            for (Py_ssize_t left = fill; left > 0; --left) PyTuple_SET_ITEM(whole, at++, Py_NewRef(all_of_it));
        else if (i < count)
            PyTuple_SET_ITEM(whole, at++, Py_NewRef(entries[i]));
    }
    return whole;
}

PyObject* subscript(PyObject* self, PyObject* key) {
    if (!ready()) return nullptr;
    auto* value = as_value(self);
    if (has_array(value)) {
        Ref simple(simple_key(key, PyArray_NDIM(as_array(value->array))));
        if (simple) {
            PyObject* arguments[] = {self, simple.object};
            return call_op(index_op, arguments, 1, words_key);
        }
        if (PyErr_Occurred()) return nullptr;
    }
    PyObject* arguments[] = {self, key};
    return call_python(whole_getitem, arguments, 2, nullptr);
}

PyObject* subscript_at(PyObject* self, Py_ssize_t place) {
    Ref key(PyLong_FromSsize_t(place));
    return key ? subscript(self, key.object) : nullptr;
}

int set_subscript(PyObject* self, PyObject* key, PyObject* value) {
    if (!value) {
        PyErr_Format(PyExc_TypeError, "'%.200s' object doesn't support item deletion", Py_TYPE(self)->tp_name);
        return -1;
    }
    if (!ready()) return -1;
    int done = set_part(self, key, value);
    if (done) return done < 0 ? -1 : 0;
    PyObject* arguments[] = {self, key, value};
    return Ref(call_python(whole_setitem, arguments, 3, nullptr)) ? 0 : -1;
}

PyObject* use_subscripts(PyObject*, PyObject* args) {
    PyObject *index, *getitem, *setitem;
    if (!PyArg_ParseTuple(args, "O!OO", op_base, &index, &getitem, &setitem)) return nullptr;
    Py_XSETREF(index_op, Py_NewRef(index));
    Py_XSETREF(whole_getitem, Py_NewRef(getitem));
    Py_XSETREF(whole_setitem, Py_NewRef(setitem));
    Py_RETURN_NONE;
}

bool intern_key() {
    Ref word(PyUnicode_InternFromString("key"));
    words_key = word ? PyTuple_Pack(1, word.object) : nullptr;
    all_of_it = PySlice_New(nullptr, nullptr, nullptr);
    return words_key && all_of_it;
}

} // namespace workbench::eager
