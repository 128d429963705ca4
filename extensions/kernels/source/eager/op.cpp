// The type of ops, and what of a record the compiled call needs.
#include "types.hpp"

#include "call.hpp"

#include <structmember.h>

#include <string_view>

namespace workbench::eager {

PyTypeObject* op_base = nullptr;

namespace {

int op_traverse(PyObject* self, visitproc visit, void* arg) {
    auto* op = reinterpret_cast<Op*>(self);
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(op->forward);
    Py_VISIT(op->cache);
    Py_VISIT(op->vjp);
    return 0;
}

int op_clear(PyObject* self) {
    auto* op = reinterpret_cast<Op*>(self);
    op->prepared = false;
    Py_CLEAR(op->forward);
    Py_CLEAR(op->cache);
    Py_CLEAR(op->vjp);
    return 0;
}

void op_dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    op_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

PyObject* op_new(PyTypeObject* type, PyObject*, PyObject*) {
    auto* op = reinterpret_cast<Op*>(type->tp_alloc(type, 0));
    if (op) op->vectorcall = call_op;
    return reinterpret_cast<PyObject*>(op);
}

PyMemberDef op_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Op, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot op_slots[] = {
    {Py_tp_members, op_members},
    {Py_tp_new, reinterpret_cast<void*>(op_new)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_traverse, reinterpret_cast<void*>(op_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(op_clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(op_dealloc)},
    {Py_tp_doc, const_cast<char*>("An op that is called without Python in the way.")},
    {0, nullptr},
};
PyType_Spec op_spec = {"workbench._kernels.OpBase", sizeof(Op), 0,
                       Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
                       op_slots};

bool contains(PyObject* set, const char* word, bool& out) {
    Ref text(PyUnicode_FromString(word));
    const int found = text ? PySequence_Contains(set, text.object) : -1;
    out = found == 1;
    return found >= 0;
}

bool truth(PyObject* owner, const char* name, bool& out) {
    Ref found(PyObject_GetAttrString(owner, name));
    int value = found ? PyObject_IsTrue(found.object) : -1;
    out = value == 1;
    return value >= 0;
}

// Reads what is computed for small arrays right here: one of these, or None.
bool small_of(PyObject* op, Small& out) {
    static constexpr std::pair<std::string_view, Small> words[] = {
        {"add", Small::add},       {"sub", Small::sub},       {"mul", Small::mul}, {"div", Small::div},
        {"neg", Small::neg},       {"relu", Small::relu},     {"sum", Small::sum}, {"sum_to", Small::sum_to},
        {"sigmoid", Small::sigmoid}, {"softplus", Small::softplus}, {"mean", Small::mean},
        {"softmax", Small::softmax}, {"log_softmax", Small::log_softmax},
        {"layer_norm", Small::layer_norm}, {"linear", Small::linear}, {"matmul", Small::matmul},
        {"expand", Small::expand}, {"relu_gradient", Small::relu_gradient},
        {"eq", Small::eq},         {"ne", Small::ne},         {"lt", Small::lt},
        {"le", Small::le},         {"gt", Small::gt},         {"ge", Small::ge},
        {"cat", Small::cat},       {"stack", Small::stack},
        {"index", Small::index},   {"permute", Small::permute}, {"reshape", Small::reshape},
        {"squeeze", Small::squeeze}, {"unsqueeze", Small::unsqueeze}, {"flatten", Small::flatten}};
    out = Small::none;
    Ref given(PyObject_GetAttrString(op, "small"));
    if (given && given.object == Py_None) return true;
    const char* text = given ? PyUnicode_AsUTF8(given.object) : nullptr;
    if (!text) return false;
    for (const auto& [word, small] : words) {
        if (word != text) continue;
        out = small;
        return true;
    }
    PyErr_Format(PyExc_ValueError, "%R asks for a loop over small arrays called %R: there is none", op, given.object);
    return false;
}

// Says whether the op computes on whole numbers as they are, where all are of 64 bits: there is nothing to cast then.
bool takes_whole_numbers(PyObject* rule, PyObject* common, bool& out) {
    bool precise = false;
    out = false;
    if (!truth(rule, "precise", precise)) return false;
    if (precise || common == Py_None) return true;
    Ref type(reinterpret_cast<PyObject*>(PyArray_DescrFromType(NPY_INT64)));
    Ref becomes(type ? PyObject_CallOneArg(common, type.object) : nullptr);
    if (!becomes) { // a rule that refuses them
        if (!PyErr_ExceptionMatches(PyExc_Exception)) return false;
        PyErr_Clear();
        return true;
    }
    out = becomes.object == type.object;
    return true;
}

// Reads positions as bits, all of them for None; false with an exception.
bool positions(PyObject* owner, const char* name, unsigned& out) {
    Ref found(PyObject_GetAttrString(owner, name));
    if (!found) return false;
    out = ~0u;
    if (found.object == Py_None) return true;
    Ref several(PySequence_Tuple(found.object));
    if (!several) return false;
    out = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(several.object); ++i) {
        long position = PyLong_AsLong(PyTuple_GET_ITEM(several.object, i));
        if (position == -1 && PyErr_Occurred()) return false;
        if (position >= 0 && position < 32) out |= 1u << position;
    }
    return true;
}

} // namespace

bool whole(PyObject* owner, const char* name, int& out) {
    Ref found(PyObject_GetAttrString(owner, name));
    if (!found) return false;
    long number = PyLong_AsLong(found.object);
    if (number == -1 && PyErr_Occurred()) return false;
    if (number < -1000000 || number > 1000000) {
        PyErr_Format(PyExc_ValueError, "%s is %ld", name, number);
        return false;
    }
    out = static_cast<int>(number);
    return true;
}

bool prepare(Op* op) {
    if (!known.apply) {
        PyErr_SetString(PyExc_RuntimeError, "ops cannot be called before workbench.core.dispatch has been imported");
        return false;
    }
    auto* self = reinterpret_cast<PyObject*>(op);
    Ref rule(PyObject_GetAttrString(self, "dtype"));
    Ref saves(rule ? PyObject_GetAttrString(self, "saves") : nullptr);
    Ref properties(saves ? PyObject_GetAttrString(self, "properties") : nullptr);
    Ref common(properties ? PyObject_GetAttrString(rule.object, "common") : nullptr);
    Ref inputs(common ? PyObject_GetAttrString(saves.object, "inputs") : nullptr);
    Ref forward(inputs ? PyObject_GetAttrString(self, "forward") : nullptr);
    Ref vjp(forward ? PyObject_GetAttrString(self, "vjp") : nullptr);
    Ref cache(vjp ? PyDict_New() : nullptr);
    bool besides = false;
    if (!cache || !small_of(self, op->small) || !whole(rule.object, "skip", op->skip) ||
        !whole(self, "outputs", op->outputs) || !truth(self, "same", op->same) || !truth(self, "widens", op->widens) ||
        !truth(self, "view", op->view) || !truth(self, "mirror", op->mirror) || !truth(self, "vjp", op->differentiable) ||
        !truth(saves.object, "output", op->saves_output) || !truth(saves.object, "crossed", op->crossed) ||
        !truth(saves.object, "nothing", op->saves_nothing) || !truth(saves.object, "besides", besides) ||
        !contains(properties.object, "elementwise", op->elementwise) || !contains(properties.object, "narrow", op->narrow) ||
        !contains(properties.object, "wide", op->wide))
        return false;
    if (op->outputs < 1) {
        PyErr_Format(PyExc_ValueError, "an op has one output or more, %R has %d", self, op->outputs);
        return false;
    }
    Ref own(PyObject_GetAttrString(saves.object, "own"));
    Py_ssize_t exceptions = own ? PyObject_Length(own.object) : -1;
    if (exceptions < 0) return false;
    op->plain_saves = reinterpret_cast<PyObject*>(Py_TYPE(saves.object)) == known.saves;
    if (op->plain_saves &&
        !(positions(saves.object, "inputs", op->reads) && positions(saves.object, "own", op->own) &&
          positions(saves.object, "outputs", op->outputs_read) && positions(saves.object, "output_for", op->outputs_for)))
        return false;
    if (!takes_whole_numbers(rule.object, common.object, op->whole_numbers)) return false;
    op->saves_others = op->crossed && exceptions == 0 && !op->saves_output && !besides;
    op->keeps = common.object == Py_None;
    op->saves_part = op->crossed || inputs.object != Py_None;
    Py_XSETREF(op->forward, forward.release());
    Py_XSETREF(op->vjp, vjp.release());
    Py_XSETREF(op->cache, cache.release());
    op->prepared = true;
    return true;
}

bool add_ops(PyObject* module) {
    op_base = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&op_spec));
    return op_base && PyModule_AddType(module, op_base) == 0;
}

} // namespace workbench::eager
