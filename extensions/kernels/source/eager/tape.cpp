#include "tape.hpp"

namespace workbench::eager {

namespace {

PyObject* word_dtype = nullptr;
PyObject* word_shape = nullptr;
PyObject* word_origin = nullptr;
PyObject* word_watching = nullptr;

// Notes the versions of the inputs that a call keeps, where one can differ from 0; false with an exception.
bool note_versions(Node* node) {
    const Py_ssize_t n = PyTuple_GET_SIZE(node->inputs);
    bool moved = false;
    for (Py_ssize_t i = 0; i < n && !moved; ++i) {
        PyObject* one = PyTuple_GET_ITEM(node->inputs, i);
        moved = is_value(one) && (as_value(one)->changes != 0 || some(as_value(one)->owner));
    }
    if (!moved) return true;
    Ref versions(PyTuple_New(n));
    for (Py_ssize_t i = 0; versions && i < n; ++i) {
        PyObject* one = PyTuple_GET_ITEM(node->inputs, i);
        PyObject* version = PyLong_FromLongLong(is_value(one) ? version_of(as_value(one)) : 0);
        if (!version) return false;
        PyTuple_SET_ITEM(versions.object, i, version);
    }
    node->versions = versions.release();
    return node->versions != nullptr;
}

// Which inputs a gradient goes on from, as bits.
unsigned needs_of(const Call& call) {
    unsigned needs = 0;
    for (Py_ssize_t i = 0; i < call.n; ++i) {
        auto* value = is_value(call.args[i]) ? as_value(call.args[i]) : nullptr;
        if (value && value->requires_grad && !value->borrowed) needs |= 1u << i;
    }
    return needs;
}

// A shape and a type, in place of an array.
PyObject* without_numbers(PyArrayObject* array) {
    auto* type = reinterpret_cast<PyTypeObject*>(known.abstract);
    Ref shape(shape_of(array));
    Ref payload(shape ? type->tp_alloc(type, 0) : nullptr);
    if (!payload || PyObject_SetAttr(payload.object, word_shape, shape.object) < 0 ||
        PyObject_SetAttr(payload.object, word_dtype, reinterpret_cast<PyObject*>(PyArray_DESCR(array))) < 0)
        return nullptr;
    return payload.release();
}

// What the tape keeps of an input that the gradient rule does not read: itself where it is small or a leaf, in which a
// gradient gathers, else a stand-in on the same place of the tape. `array` is what was computed with: by now the value may
// have another.
PyObject* stand_in(PyObject* one, PyArrayObject* array) {
    auto* value = as_value(one);
    if (PyArray_NBYTES(array) <= LARGE || (!some(value->grad_fn) && value->requires_grad)) return Py_NewRef(one);
    Ref payload(without_numbers(array));
    Value* other = payload ? made(payload.object, value->names) : nullptr;
    if (!other) return nullptr;
    Ref kept(reinterpret_cast<PyObject*>(other));
    other->labels = Py_XNewRef(value->labels);
    if (some(value->names)) {
        Ref origin(look_up(one, word_origin));
        if (!origin || PyObject_SetAttr(kept.object, word_origin, origin.object) < 0) return nullptr;
    }
    if (value->requires_grad) {
        other->requires_grad = 1;
        other->grad_fn = Py_XNewRef(value->grad_fn);
        other->output = value->output;
    }
    return kept.release();
}

// The inputs that a call keeps: of what the rule does not read no numbers, where there are many.
PyObject* kept_inputs(const Call& call, unsigned needs) {
    if (!call.large || !call.op->saves_part) return tuple_of(call.args, call.n);
    Ref inputs(PyTuple_New(call.n));
    for (Py_ssize_t i = 0; inputs && i < call.n; ++i) {
        const unsigned here = 1u << i;
        const bool others = (needs & ~here) != 0 || (call.op->own & here && needs);
        const bool read = (call.op->reads & here) && (!call.op->crossed || others);
        PyObject* one = read || !is_value(call.args[i]) ? Py_NewRef(call.args[i]) : stand_in(call.args[i], as_array(call.arrays[i]));
        if (!one) return nullptr;
        PyTuple_SET_ITEM(inputs.object, i, one);
    }
    return inputs.release();
}

// What a call keeps of an output that its rule may read.
PyObject* kept_output(const Call& call, PyArrayObject* array, Py_ssize_t i, unsigned needs) {
    const bool read = (call.op->outputs_read & (i < 32 ? 1u << i : 0)) && (call.op->outputs_for & needs);
    if (!call.op->plain_saves || read || PyArray_NBYTES(array) <= LARGE) return Py_NewRef(reinterpret_cast<PyObject*>(array));
    return without_numbers(array);
}

} // namespace

bool on_tape(Call& call, PyObject* results) {
    if (!call.params()) return false;
    PyObject* watching = PyDict_GetItemWithError(known.tape, word_watching);
    int watched = watching ? PyObject_IsTrue(watching) : PyErr_Occurred() ? -1 : 0;
    if (watched < 0) return false;
    if (watched || (call.large && call.op->saves_part && !call.op->plain_saves)) {
        Ref inputs(tuple_of(call.args, call.n));
        if (!inputs) return false;
        PyObject* arguments[] = {reinterpret_cast<PyObject*>(call.op), inputs.object, call.params(), results};
        return bool(Ref(call_python(known.record, arguments, 4, nullptr)));
    }
    auto* type = reinterpret_cast<PyTypeObject*>(known.node_type);
    Ref made_node(type->tp_alloc(type, 0));
    if (!made_node) return false;
    Node* node = as_node(made_node.object);
    node->op = Py_NewRef(reinterpret_cast<PyObject*>(call.op));
    const unsigned needs = needs_of(call);
    node->inputs = kept_inputs(call, needs);
    if (!node->inputs) return false;
    node->params = Py_NewRef(call.params());
    node->serial = serial++;
    Py_ssize_t outputs = PyTuple_GET_SIZE(results);
    if (call.op->saves_output) {
        node->saved = PyTuple_New(outputs);
        if (!node->saved) return false;
        for (Py_ssize_t i = 0; i < outputs; ++i) {
            PyObject* kept = kept_output(call, as_array(as_value(PyTuple_GET_ITEM(results, i))->array), i, needs);
            if (!kept) return false;
            PyTuple_SET_ITEM(node->saved, i, kept);
        }
    }
    if (call.moved && !note_versions(node)) return false;
    for (Py_ssize_t i = 0; i < outputs; ++i) {
        auto* value = as_value(PyTuple_GET_ITEM(results, i));
        if (!floating(PyTuple_GET_ITEM(results, i))) continue; // indices beside values
        value->requires_grad = 1;
        Py_XSETREF(value->grad_fn, Py_NewRef(made_node.object));
        value->output = static_cast<int>(i);
    }
    return true;
}

bool intern_tape() {
    word_dtype = PyUnicode_InternFromString("dtype");
    word_shape = PyUnicode_InternFromString("shape");
    word_origin = PyUnicode_InternFromString("_origin");
    word_watching = PyUnicode_InternFromString("watching");
    return word_dtype && word_shape && word_origin && word_watching;
}

} // namespace workbench::eager
