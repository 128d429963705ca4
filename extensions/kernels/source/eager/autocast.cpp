#include "autocast.hpp"

#include "call.hpp"

#include <algorithm>

namespace workbench::eager {

namespace {

PyObject* word_dtype = nullptr;
PyObject* word_to = nullptr;
PyObject* words_dtype = nullptr; // ("dtype",)

} // namespace

bool look_for_autocast(PyObject* top, Around& around) {
    if (!known.autocast || !PyTuple_Check(top) || PyTuple_GET_SIZE(top) != 2 ||
        reinterpret_cast<PyObject*>(Py_TYPE(PyTuple_GET_ITEM(top, 0))) != known.autocast || PyTuple_GET_ITEM(top, 1) != Py_None)
        return true;
    around.narrow = Ref(look_up(PyTuple_GET_ITEM(top, 0), word_dtype));
    around.common = bool(around.narrow);
    return around.common;
}

bool Brought::bring(const Op* op, PyObject* const* args, Py_ssize_t n, PyObject* kwnames, const Around& around) {
    const Py_ssize_t words = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    if (n > MOST_INPUTS || words > MOST_PARAMETERS) return false;
    std::copy(args, args + n + words, all_.data());
    for (Py_ssize_t i = 0; i < n; ++i) {
        if (!is_value(args[i])) continue;
        if (!has_array(as_value(args[i]))) return false;
        const int number = PyArray_TYPE(as_array(as_value(args[i])->array));
        if (op->narrow ? number != NPY_FLOAT : number != NPY_HALF && number != known.bfloat16) continue;
        Ref wide(op->narrow ? nullptr : reinterpret_cast<PyObject*>(PyArray_DescrFromType(NPY_FLOAT)));
        made_[i] = Ref(cast(args[i], op->narrow ? around.narrow.object : wide.object, around.grad));
        if (!made_[i]) return false;
        all_[i] = made_[i].object;
    }
    return true;
}

PyObject* Brought::cast(PyObject* value, PyObject* type, bool grad) {
    Ref to(look_up(known.table, word_to));
    if (!to) return nullptr;
    if (!PyObject_TypeCheck(to.object, op_base)) return PyErr_Format(PyExc_TypeError, "%R is not an op", to.object);
    auto* op = reinterpret_cast<Op*>(to.object);
    if (!op->prepared && !prepare(op)) return nullptr;
    PyObject* arguments[] = {value, type};
    return common_call(op, arguments, 1, words_dtype, grad);
}

bool intern_casts() {
    word_dtype = PyUnicode_InternFromString("dtype");
    word_to = PyUnicode_InternFromString("to");
    words_dtype = word_dtype ? PyTuple_Pack(1, word_dtype) : nullptr;
    return word_to && words_dtype;
}

} // namespace workbench::eager
