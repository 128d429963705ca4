// The types of values, recorded calls, and calls as gradient rules see them.
#include "types.hpp"

#include "subscript.hpp"

#include <structmember.h>

namespace workbench::eager {

PyTypeObject* value_base = nullptr;
PyTypeObject* node_base = nullptr;
PyTypeObject* recorded_base = nullptr;
long long serial = 0;

namespace {

// ------------------------------------------------------------------------------------------ what they share

// Where an object of a type keeps what it refers to.
template <class T>
struct Fields;

template <>
struct Fields<Value> {
    static constexpr PyObject* Value::*all[] = {&Value::array, &Value::names, &Value::labels, &Value::grad_fn,
                                                &Value::view,  &Value::owner, &Value::leaf,   &Value::past,
                                                &Value::mirrors};
};

template <>
struct Fields<Node> {
    static constexpr PyObject* Node::*all[] = {&Node::op,     &Node::inputs, &Node::params, &Node::saved, &Node::versions,
                                               &Node::packed, &Node::hooks,  &Node::before, &Node::after};
};

template <>
struct Fields<Recorded> {
    static constexpr PyObject* Recorded::*all[] = {&Recorded::op,   &Recorded::inputs, &Recorded::params,
                                                   &Recorded::outs, &Recorded::out,    &Recorded::needs};
};

template <class T>
int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    for (auto field : Fields<T>::all) Py_VISIT(reinterpret_cast<T*>(self)->*field);
    return 0;
}

template <class T>
int clear(PyObject* self) {
    for (auto field : Fields<T>::all) Py_CLEAR(reinterpret_cast<T*>(self)->*field);
    return 0;
}

template <class T>
void dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_TRASHCAN_BEGIN(self, dealloc<T>) // long chains of calls are not freed by recursion
    clear<T>(self);
    type->tp_free(self);
    Py_DECREF(type);
    Py_TRASHCAN_END
}

// ------------------------------------------------------------------------- fields that are what they say

// What a checked field may hold beside nothing.
struct Checked {
    Py_ssize_t offset;
    PyTypeObject** type;
    const char* words;
};

PyTypeObject* tuple_type = &PyTuple_Type;

PyObject*& place_of(PyObject* self, void* closure) {
    return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(self) + static_cast<Checked*>(closure)->offset);
}

PyObject* get_checked(PyObject* self, void* closure) {
    PyObject* held = place_of(self, closure);
    return Py_NewRef(held ? held : Py_None);
}

int set_checked(PyObject* self, PyObject* given, void* closure) {
    auto* checked = static_cast<Checked*>(closure);
    if (given && given != Py_None && !PyObject_TypeCheck(given, *checked->type)) {
        PyErr_Format(PyExc_TypeError, "%s must be %s or None, not %.200s", checked->words,
                     (*checked->type)->tp_name, Py_TYPE(given)->tp_name);
        return -1;
    }
    Py_XSETREF(place_of(self, closure), given == Py_None ? nullptr : Py_XNewRef(given));
    return 0;
}

PyGetSetDef checked(const char* name, Checked& field) { return {name, get_checked, set_checked, nullptr, &field}; }

Checked value_grad_fn{offsetof(Value, grad_fn), &node_base, "_grad_fn"};
Checked value_owner{offsetof(Value, owner), &value_base, "_owner"};
Checked node_inputs{offsetof(Node, inputs), &tuple_type, "inputs"};
Checked node_saved{offsetof(Node, saved), &tuple_type, "saved"};
Checked node_versions{offsetof(Node, versions), &tuple_type, "versions"};

// ----------------------------------------------------------------------------------------------- the types

PyMemberDef value_members[] = {
    {"payload", T_OBJECT, offsetof(Value, array), 0, nullptr},
    {"_names", T_OBJECT, offsetof(Value, names), 0, nullptr},
    {"_labels", T_OBJECT, offsetof(Value, labels), 0, nullptr},
    {"_view", T_OBJECT, offsetof(Value, view), 0, nullptr},
    {"_leaf", T_OBJECT, offsetof(Value, leaf), 0, nullptr},
    {"_past", T_OBJECT, offsetof(Value, past), 0, nullptr},
    {"_mirrors", T_OBJECT, offsetof(Value, mirrors), 0, nullptr},
    {"_changes", T_LONGLONG, offsetof(Value, changes), 0, nullptr},
    {"_since", T_LONGLONG, offsetof(Value, since), 0, nullptr},
    {"_seen", T_LONGLONG, offsetof(Value, seen), 0, nullptr},
    {"_output", T_INT, offsetof(Value, output), 0, nullptr},
    {"_requires_grad", T_BOOL, offsetof(Value, requires_grad), 0, nullptr},
    {"_borrowed", T_BOOL, offsetof(Value, borrowed), 0, nullptr},
    {"_inference", T_BOOL, offsetof(Value, inference), 0, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyGetSetDef value_checked[] = {checked("_grad_fn", value_grad_fn),
                               checked("_owner", value_owner),
                               {"shape", get_shape, nullptr, "Sizes of the dims.", nullptr},
                               {}};

PyMemberDef node_members[] = {
    {"op", T_OBJECT, offsetof(Node, op), 0, nullptr},
    {"params", T_OBJECT, offsetof(Node, params), 0, nullptr},
    {"packed", T_OBJECT, offsetof(Node, packed), 0, nullptr},
    {"hooks", T_OBJECT, offsetof(Node, hooks), 0, nullptr},
    {"before", T_OBJECT, offsetof(Node, before), 0, nullptr},
    {"after", T_OBJECT, offsetof(Node, after), 0, nullptr},
    {"serial", T_LONGLONG, offsetof(Node, serial), 0, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyGetSetDef node_checked[] = {
    checked("inputs", node_inputs), checked("saved", node_saved), checked("versions", node_versions), {}};

PyMemberDef recorded_members[] = {
    {"op", T_OBJECT, offsetof(Recorded, op), 0, nullptr},
    {"inputs", T_OBJECT, offsetof(Recorded, inputs), 0, nullptr},
    {"params", T_OBJECT, offsetof(Recorded, params), 0, nullptr},
    {"outs", T_OBJECT, offsetof(Recorded, outs), 0, nullptr},
    {"out", T_OBJECT, offsetof(Recorded, out), 0, nullptr},
    {"needs", T_OBJECT, offsetof(Recorded, needs), 0, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyGetSetDef nothing_checked[] = {{}};

// Makes the type and enters it into the module under the last part of its name.
template <class T>
PyTypeObject* type_of(PyObject* module, const char* name, PyMemberDef* members, PyGetSetDef* checked, const char* words,
                      bool parts = false) {
    PyType_Slot slots[] = {
        {Py_tp_members, members},
        {Py_tp_getset, checked},
        {Py_tp_traverse, reinterpret_cast<void*>(traverse<T>)},
        {Py_tp_clear, reinterpret_cast<void*>(clear<T>)},
        {Py_tp_dealloc, reinterpret_cast<void*>(dealloc<T>)},
        {Py_tp_new, reinterpret_cast<void*>(PyType_GenericNew)},
        {Py_tp_doc, const_cast<char*>(words)},
        {parts ? Py_mp_subscript : 0, reinterpret_cast<void*>(subscript)}, // 0 ends the list
        {Py_mp_ass_subscript, reinterpret_cast<void*>(set_subscript)},
        {Py_sq_item, reinterpret_cast<void*>(subscript_at)},
        {0, nullptr},
    };
    PyType_Spec spec = {name, sizeof(T), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
    auto* type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    if (type && PyModule_AddType(module, type) < 0) Py_CLEAR(type);
    return type;
}

} // namespace

bool add_values(PyObject* module) {
    value_base = type_of<Value>(module, "workbench._kernels.ValueBase", value_members, value_checked,
                                "What dispatch keeps of a value.", true);
    node_base = type_of<Node>(module, "workbench._kernels.NodeBase", node_members, node_checked,
                              "What the tape keeps of a call.");
    recorded_base = type_of<Recorded>(module, "workbench._kernels.CallBase", recorded_members, nothing_checked,
                                      "One call of an op, as a gradient rule sees it.");
    return value_base && node_base && recorded_base;
}

Value* made(PyObject* array, PyObject* names) {
    auto* type = reinterpret_cast<PyTypeObject*>(known.value_type);
    if (!type) {
        PyErr_SetString(PyExc_RuntimeError, "the type of new values has not been set: import workbench first");
        return nullptr;
    }
    // Held first: a new object may have garbage collected, whose code may let go of what is not.
    Ref held(Py_NewRef(array)), held_names(some(names) ? Py_NewRef(names) : nullptr);
    auto* value = as_value(type->tp_alloc(type, 0));
    if (!value) return nullptr;
    value->array = held.release();
    value->names = held_names.release();
    return value;
}

} // namespace workbench::eager
