#include "types.hpp"
#include "backward.hpp"

namespace workbench::eager {
namespace {

// The same value on the same place of the tape, without names.
PyObject* bare(Value* value) {
    Value* other = made(value->array ? value->array : Py_None, nullptr);
    if (!other) return nullptr;
    auto* self = reinterpret_cast<PyObject*>(value);
    Py_XSETREF(other->owner, Py_NewRef(some(value->owner) ? value->owner : self));
    if (value->requires_grad) {
        other->requires_grad = 1;
        if (some(value->grad_fn)) {
            Py_XSETREF(other->grad_fn, Py_NewRef(value->grad_fn));
            other->output = value->output;
        } else {
            Py_XSETREF(other->leaf, Py_NewRef(some(value->leaf) ? value->leaf : self));
        }
    }
    return reinterpret_cast<PyObject*>(other);
}

// Says whether every input is as it was when the call was recorded; -1 with an exception.
int untouched(const Node* node) {
    Py_ssize_t n = PyTuple_GET_SIZE(node->inputs);
    if (some(node->versions) && PyTuple_GET_SIZE(node->versions) != n) return 0;
    for (Py_ssize_t i = 0; i < n; ++i) {
        PyObject* one = PyTuple_GET_ITEM(node->inputs, i);
        if (!is_value(one)) continue;
        long long expected = some(node->versions) ? PyLong_AsLongLong(PyTuple_GET_ITEM(node->versions, i)) : 0;
        if (expected == -1 && PyErr_Occurred()) return -1;
        if (some(as_value(one)->past) || as_value(one)->since > node->serial || version_of(as_value(one)) != expected) return 0;
    }
    return 1;
}

// The outputs whose payloads the call saved, on their place of the tape.
PyObject* saved_outputs(PyObject* self) {
    Ref saved(Py_NewRef(as_node(self)->saved)); // as the inputs
    Py_ssize_t n = PyTuple_GET_SIZE(saved.object);
    Ref outs(PyTuple_New(n));
    for (Py_ssize_t i = 0; outs && i < n; ++i) {
        Value* out = made(PyTuple_GET_ITEM(saved.object, i), nullptr);
        if (!out) return nullptr;
        Py_XSETREF(out->grad_fn, Py_NewRef(self));
        out->output = static_cast<int>(i);
        out->requires_grad = !has_array(out) || floating(as_array(out->array)); // indices beside values
        PyTuple_SET_ITEM(outs.object, i, reinterpret_cast<PyObject*>(out));
    }
    return outs.release();
}

} // namespace

PyObject* recall(PyObject*, PyObject* const* args, Py_ssize_t count) {
    auto* type = count == 2 && PyType_Check(args[1]) ? reinterpret_cast<PyTypeObject*>(args[1]) : nullptr;
    if (!type || !PyType_IsSubtype(type, recorded_base) || !PyObject_TypeCheck(args[0], node_base)) {
        PyErr_SetString(PyExc_TypeError, "recall takes a recorded call and the type that gradient rules see it as");
        return nullptr;
    }
    Node* node = as_node(args[0]);
    if (!some(node->inputs) || some(node->packed)) Py_RETURN_NONE;
    int good = untouched(node);
    if (good < 0) return nullptr;
    if (!good) Py_RETURN_NONE;
    Ref from(Py_NewRef(node->inputs)); // making values may run code that lets go of them
    Py_ssize_t n = PyTuple_GET_SIZE(from.object);
    Ref inputs(PyTuple_New(n)), needs(PyTuple_New(n));
    if (!inputs || !needs) return nullptr;
    for (Py_ssize_t i = 0; i < n; ++i) {
        PyObject* one = PyTuple_GET_ITEM(from.object, i);
        auto* value = is_value(one) ? as_value(one) : nullptr;
        PyTuple_SET_ITEM(needs.object, i, Py_NewRef(value && value->requires_grad && !value->borrowed ? Py_True : Py_False));
        PyObject* seen = value && some(value->names) ? bare(value) : Py_NewRef(one);
        if (!seen) return nullptr;
        PyTuple_SET_ITEM(inputs.object, i, seen);
    }
    Ref outs(some(node->saved) ? saved_outputs(args[0]) : PyTuple_New(0));
    if (!outs) return nullptr;
    auto* call = reinterpret_cast<Recorded*>(type->tp_alloc(type, 0));
    if (!call) return nullptr;
    call->op = Py_XNewRef(node->op);
    call->params = Py_XNewRef(node->params);
    call->inputs = inputs.release();
    call->needs = needs.release();
    call->out = PyTuple_GET_SIZE(outs.object) ? Py_NewRef(PyTuple_GET_ITEM(outs.object, 0)) : nullptr;
    call->outs = outs.release();
    return reinterpret_cast<PyObject*>(call);
}

} // namespace workbench::eager
