// Sizes of dims as a tuple that counts values: what is cut out of one, or put together of several, is one again.
//
// `core/size.py` has the same in Python. It is here because programs ask for x.shape[0] where they ask for anything.
#include "subscript.hpp"

namespace workbench::eager {
namespace {

PyTypeObject* size_type = nullptr;

// The same items as a size; takes the reference. What is no tuple is left as it is: an item, or an exception.
PyObject* as_size(PyObject* found) {
    if (!found || !PyTuple_CheckExact(found)) return found;
    Ref items(found);
    const Py_ssize_t count = PyTuple_GET_SIZE(found);
    PyObject* size = size_type->tp_alloc(size_type, count);
    for (Py_ssize_t i = 0; size && i < count; ++i) PyTuple_SET_ITEM(size, i, Py_NewRef(PyTuple_GET_ITEM(found, i)));
    return size;
}

PyObject* subscript(PyObject* self, PyObject* key) {
    PyObject* found = PyTuple_Type.tp_as_mapping->mp_subscript(self, key);
    return PySlice_Check(key) ? as_size(found) : found;
}

// Either side may be the size.
PyObject* add(PyObject* left, PyObject* right) {
    if (!PyTuple_Check(left) || !PyTuple_Check(right)) Py_RETURN_NOTIMPLEMENTED;
    const Py_ssize_t first = PyTuple_GET_SIZE(left), second = PyTuple_GET_SIZE(right);
    PyObject* size = size_type->tp_alloc(size_type, first + second);
    if (!size) return nullptr;
    for (Py_ssize_t i = 0; i < first; ++i) PyTuple_SET_ITEM(size, i, Py_NewRef(PyTuple_GET_ITEM(left, i)));
    for (Py_ssize_t i = 0; i < second; ++i) PyTuple_SET_ITEM(size, first + i, Py_NewRef(PyTuple_GET_ITEM(right, i)));
    return size;
}

PyObject* repeat(PyObject* self, Py_ssize_t times) {
    Ref plain(PyTuple_GetSlice(self, 0, PyTuple_GET_SIZE(self)));
    if (!plain.object) return nullptr;
    return as_size(PyTuple_Type.tp_as_sequence->sq_repeat(plain.object, times));
}

// A product of Python's: a size of a trace is an expression.
PyObject* numel(PyObject* self, PyObject*) {
    Ref product(PyLong_FromLong(1));
    for (Py_ssize_t i = 0; product.object && i < PyTuple_GET_SIZE(self); ++i)
        product = Ref(PyNumber_Multiply(product.object, PyTuple_GET_ITEM(self, i)));
    return std::exchange(product.object, nullptr);
}

PyObject* reduce(PyObject* self, PyObject*) {
    Ref items(PySequence_List(self)); // a slice of all would be the size itself
    return items.object ? Py_BuildValue("O(O)", reinterpret_cast<PyObject*>(Py_TYPE(self)), items.object) : nullptr;
}

PyMethodDef methods[] = {
    {"numel", numel, METH_NOARGS, "Return the product of the sizes, 1 where there are none."},
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_mp_subscript, reinterpret_cast<void*>(subscript)},
    {Py_nb_add, reinterpret_cast<void*>(add)},
    {Py_sq_repeat, reinterpret_cast<void*>(repeat)},
    {Py_tp_methods, methods},
    {Py_tp_doc, const_cast<char*>("Sizes of dims: a tuple that knows how many values a tensor of them has.")},
    {0, nullptr},
};

PyType_Spec spec = {"workbench.core.size.Size", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

} // namespace

PyObject* get_shape(PyObject* self, void*) {
    auto* value = as_value(self);
    if (!has_array(value)) {
        Ref payload(Py_NewRef(value->array ? value->array : Py_None));
        Ref shape(PyObject_GetAttrString(payload.object, "shape"));
        return shape ? PyObject_CallOneArg(reinterpret_cast<PyObject*>(size_type), shape.object) : nullptr;
    }
    Ref held(Py_NewRef(value->array)); // the size is a new object, on whose account garbage may be collected
    PyArrayObject* array = as_array(held.object);
    const int dims = PyArray_NDIM(array);
    PyObject* size = size_type->tp_alloc(size_type, dims);
    for (int d = 0; size && d < dims; ++d) {
        PyObject* one = PyLong_FromSsize_t(PyArray_DIM(array, d));
        if (!one)
            Py_CLEAR(size);
        else
            PyTuple_SET_ITEM(size, d, one);
    }
    return size;
}

bool add_size(PyObject* module) {
    size_type = reinterpret_cast<PyTypeObject*>(
        PyType_FromSpecWithBases(&spec, reinterpret_cast<PyObject*>(&PyTuple_Type)));
    return size_type && PyModule_AddType(module, size_type) == 0;
}

} // namespace workbench::eager
