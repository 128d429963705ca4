// What Python sees of eager dispatch.
#define WORKBENCH_IMPORTS_NUMPY
#include "types.hpp"

#include "autocast.hpp"
#include "backward.hpp"
#include "call.hpp"
#include "creation.hpp"
#include "current_call.hpp"
#include "module.hpp"
#include "optimizer_step.hpp"
#include "small_arrays.hpp"
#include "subscript.hpp"
#include "tape.hpp"
#include "views.hpp"
#include "writes.hpp"

#include <algorithm>

namespace workbench {
namespace eager {

Known known;

namespace {

// stretched(array, sizes): `stretch` for Python; None where the sizes do not fit.
PyObject* stretched(PyObject*, PyObject* const* args, Py_ssize_t n) {
    PyObject* view = n == 2 ? stretch(args[0], args[1]) : nullptr;
    if (!view && !PyErr_Occurred()) Py_RETURN_NONE;
    return view;
}

// new_value(array, names=None): a value around an array.
PyObject* new_value(PyObject*, PyObject* const* args, Py_ssize_t n) {
    if (n < 1 || n > 2) {
        PyErr_SetString(PyExc_TypeError, "new takes an array and names");
        return nullptr;
    }
    return reinterpret_cast<PyObject*>(made(args[0], n == 2 ? args[1] : nullptr));
}

// few(op, *arrays, **parameters): what calling the op computes of small arrays without its own code; None where it does not.
PyObject* few(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    if (n < 2 || !PyObject_TypeCheck(args[0], op_base)) {
        PyErr_SetString(PyExc_TypeError, "few takes an op and its arrays");
        return nullptr;
    }
    auto* op = reinterpret_cast<Op*>(args[0]);
    if (!op->prepared && !prepare(op)) return nullptr;
    npy_intp size = 0;
    for (Py_ssize_t i = 1; i < n; ++i)
        if (PyArray_Check(args[i])) size = std::max(size, PyArray_SIZE(as_array(args[i])));
    if (op->small != Small::none && !shows(op->small) && !joins(op->small) && size <= SMALL) {
        PyObject* out = small_call(op->small, args + 1, n - 1, kwnames);
        if (out || PyErr_Occurred()) return out;
    }
    Py_RETURN_NONE;
}

PyObject* next_serial(PyObject*, PyObject*) { return PyLong_FromLongLong(serial++); }

// Says whether `type` is a type below `base`; sets an exception where it is not.
bool below(PyObject* type, PyTypeObject* base) {
    if (PyType_Check(type) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), base)) return true;
    PyErr_Format(PyExc_TypeError, "expected a type below %s, got %R", base->tp_name, type);
    return false;
}

// connect(state, default_state, node_type, apply, names_of, record, tape, warnings, quiet): what core knows.
PyObject* connect(PyObject*, PyObject* args) {
    PyObject *state, *default_state, *node_type, *apply, *names_of, *record, *tape, *warnings, *quiet;
    if (!PyArg_ParseTuple(args, "O!OOOOOO!O!O", &PyContextVar_Type, &state, &default_state, &node_type, &apply, &names_of,
                          &record, &PyDict_Type, &tape, &PyContextVar_Type, &warnings, &quiet) ||
        !below(node_type, node_base))
        return nullptr;
    Py_XSETREF(known.warnings, Py_NewRef(warnings));
    Py_XSETREF(known.quiet, Py_NewRef(quiet));
    Py_XSETREF(known.state, Py_NewRef(state));
    Py_XSETREF(known.default_state, Py_NewRef(default_state));
    Py_XSETREF(known.node_type, Py_NewRef(node_type));
    Py_XSETREF(known.apply, Py_NewRef(apply));
    Py_XSETREF(known.names_of, Py_NewRef(names_of));
    Py_XSETREF(known.record, Py_NewRef(record));
    Py_XSETREF(known.tape, Py_NewRef(tape));
    Py_RETURN_NONE;
}

// connect_tape(saves, abstract, codes): what says what a gradient rule reads, what stands for numbers that it does not, and
// the payloads that have no gradients at all.
PyObject* connect_tape(PyObject*, PyObject* args) {
    PyObject *saves, *abstract, *codes;
    if (!PyArg_ParseTuple(args, "O!O!O!", &PyType_Type, &saves, &PyType_Type, &abstract, &PyTuple_Type, &codes)) return nullptr;
    Py_XSETREF(known.saves, Py_NewRef(saves));
    Py_XSETREF(known.abstract, Py_NewRef(abstract));
    Py_XSETREF(known.codes, Py_NewRef(codes));
    Py_RETURN_NONE;
}

// connect_autocast(type, table, bfloat16): the interpreter of mixed precision, the ops by attribute, and an array type.
PyObject* connect_autocast(PyObject*, PyObject* args) {
    PyObject *type, *table, *bfloat16;
    if (!PyArg_ParseTuple(args, "O!OO!", &PyType_Type, &type, &table, &PyArrayDescr_Type, &bfloat16)) return nullptr;
    Py_XSETREF(known.autocast, Py_NewRef(type));
    Py_XSETREF(known.table, Py_NewRef(table));
    known.bfloat16 = reinterpret_cast<PyArray_Descr*>(bfloat16)->type_num;
    Py_RETURN_NONE;
}

// The attributes of an object as its dict. Python 3.11 makes the dict when it is first asked for, of the values that the object
// has. Garbage may be collected then, and whoever asks meanwhile makes another dict of the same values, which both give back.
PyObject* attributes(PyObject*, PyObject* object) {
    const int collects = PyGC_Disable();
    PyObject* own = PyObject_GenericGetDict(object, nullptr);
    if (collects) PyGC_Enable();
    return own;
}

PyObject* use_value_type(PyObject*, PyObject* type) {
    if (!below(type, value_base)) return nullptr;
    Py_XSETREF(known.value_type, Py_NewRef(type));
    Py_RETURN_NONE;
}

// Python 3.11 does not let a class inherit that its instances are called without building a tuple.
PyObject* call_directly(PyObject*, PyObject* type) {
    if (!below(type, op_base)) return nullptr;
    reinterpret_cast<PyTypeObject*>(type)->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
    PyType_Modified(reinterpret_cast<PyTypeObject*>(type));
    Py_RETURN_NONE;
}

// The C way to say that a function takes its arguments as an array.
PyCFunction fast(PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t)) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function));
}

PyMethodDef functions[] = {
    {"new_value", fast(new_value), METH_FASTCALL, "A value around an array."},
    {"walk", fast(walk), METH_FASTCALL, "The walk over the tape."},
    {"recall", fast(recall), METH_FASTCALL, "A recorded call, for its gradient rule."},
    {"few", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(few)), METH_FASTCALL | METH_KEYWORDS, "What is computed of small arrays."},
    {"stretched", fast(stretched), METH_FASTCALL, "A view with dims of size 1 repeated."},
    {"next_serial", next_serial, METH_NOARGS, "The next number of a recorded call."},
    {"optimizer_step", fast(optimizer_step), METH_FASTCALL, "One step of an optimizer."},
    {"connect", connect, METH_VARARGS, "Tell what core knows."},
    {"connect_tape", connect_tape, METH_VARARGS, "Tell what the tape keeps."},
    {"connect_autocast", connect_autocast, METH_VARARGS, "Tell of mixed precision and its type."},
    {"written", fast(written), METH_FASTCALL, "What an op gives, written into a value."},
    {"filled", fast(filled), METH_FASTCALL, "A number written to every entry of a value."},
    {"copied", fast(copied), METH_FASTCALL, "The numbers of one value written into another."},
    {"use_subscripts", use_subscripts, METH_VARARGS, "Set what shows and writes parts of values."},
    {"noted", fast(noted), METH_FASTCALL, "A value around an array, and the line that made it."},
    {"filled_new", fast(filled_new), METH_FASTCALL, "A new value of plain sizes."},
    {"attributes", attributes, METH_O, "The dict of an object, which two threads may ask for at once."},
    {"use_value_type", use_value_type, METH_O, "Set the type of new values."},
    {"call_directly", call_directly, METH_O, "Let calls of a type's instances go straight to their code."},
    {nullptr, nullptr, 0, nullptr},
};

} // namespace
} // namespace eager

bool add_eager(PyObject* module) {
    import_array1(false);
    return eager::intern_kernels() && eager::intern_tape() && eager::intern_casts() && eager::intern_key() && eager::intern_places() &&
           eager::add_values(module) && eager::add_ops(module) && eager::add_size(module) && PyModule_AddFunctions(module, eager::functions) == 0;
}

} // namespace workbench
