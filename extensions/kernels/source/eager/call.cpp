#include "call.hpp"

#include "autocast.hpp"
#include "small_arrays.hpp"
#include "tape.hpp"

#include <algorithm>
#include <array>
#include <memory>

namespace workbench::eager {

const Value* viewed_by(const Value* value) {
    if (!some(value->view) || !PyTuple_Check(value->view) || PyTuple_GET_SIZE(value->view) != 4) return nullptr;
    PyObject* viewed = PyTuple_GET_ITEM(value->view, 0);
    return is_value(viewed) ? as_value(viewed) : nullptr;
}

bool stale(const Value* value) {
    if (!some(value->view)) return false;
    if (value->requires_grad) return version_of(value) != value->seen;
    while ((value = viewed_by(value)))
        if (value->requires_grad) return true;
    return false;
}

int common_state(bool& grad) {
    PyObject* found = nullptr;
    if (PyContextVar_Get(known.state, known.default_state, &found) < 0) return -1;
    Ref state(found);
    if (!PyTuple_Check(found) || PyTuple_GET_SIZE(found) < 3) return 0;
    grad = PyTuple_GET_ITEM(found, 0) == Py_True;
    return PyTuple_GET_ITEM(found, 1) == Py_None && PyTuple_GET_ITEM(found, 2) != Py_True;
}

namespace {

// Hands the call to `workbench.core.dispatch.apply`.
PyObject* whole_way(PyObject* op, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    Py_ssize_t words = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    std::array<PyObject*, 32> few;
    std::unique_ptr<PyObject*[]> many;
    PyObject** all = few.data();
    if (n + words + 1 > static_cast<Py_ssize_t>(few.size())) {
        many.reset(new (std::nothrow) PyObject*[n + words + 1]);
        if (!many) return PyErr_NoMemory();
        all = many.get();
    }
    all[0] = op;
    std::copy(args, args + n + words, all + 1);
    return call_python(known.apply, all, n + 1, kwnames);
}

// What every call goes through stands here, so that the compiler makes one function of it; what few need has files of
// its own.

// Looks at the inputs; false where this call is not a common one.
// Where nothing is recorded, a view's place on the tape does not matter: gradient rules take transposes of weights.
bool look(Call& call, bool grad) {
    if (call.n < 1 || call.n > MOST_INPUTS || call.words() > MOST_PARAMETERS) return false;
    int type = -1;
    bool odd = false; // some type is neither float nor double (nor whole, where the op takes that), or not the first's
    bool fraction = false, beyond = false; // some number is none of the whole ones of 64 bits
    for (Py_ssize_t i = 0; i < call.n; ++i) {
        PyObject* one = call.args[i];
        if (is_value(one)) {
            auto* value = as_value(one);
            if (!has_array(value) || (grad && stale(value)) || value->inference) return false;
            PyArrayObject* array = as_array(value->array);
            int number = PyArray_TYPE(array);
            if (call.op->keeps) {
                if (call.op->widens && number == known.bfloat16) call.half = true;
                else if (call.op->widens && (number == NPY_HALF || number >= NPY_USERDEF)) return false;
            } else if (i >= call.op->skip) {
                if (number == known.bfloat16) call.half = true;
                else if (number == NPY_INT64) odd |= !call.op->whole_numbers || (type >= 0 && number != type);
                else odd |= (number != NPY_FLOAT && number != NPY_DOUBLE) || (type >= 0 && number != type);
                type = number;
            }
            call.recorded |= value->requires_grad;
            call.moved |= value->changes != 0 || some(value->owner);
            call.large |= PyArray_NBYTES(array) > LARGE;
            call.size = std::max(call.size, PyArray_SIZE(array));
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
        call.arrays[call.held++] = Py_NewRef(one);
    }
    if (type == NPY_INT64 && (fraction || beyond)) return false; // they become floating, or wrap
    // What stands beside bfloat16 is for the kernel to judge: an op of this type without one casts first.
    return call.half || (!odd && (call.op->keeps || type >= 0));
}

// Finds the names of an elementwise result, if they need no thought.
bool simple_names(Call& call, PyObject*& names) {
    names = nullptr;
    for (Py_ssize_t i = 0; i < call.n; ++i) {
        if (!is_value(call.args[i])) continue;
        PyObject* here = as_value(call.args[i])->names;
        int dims = PyArray_NDIM(as_array(call.arrays[i]));
        if (!some(here) || dims == 0) {
            if (dims != 0) call.wants_rule = true;
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
    return !(call.wants_rule && names); // named and unnamed together: the rule knows
}

// Computes here what is small, else runs the kernel, or the op's own array code.
PyObject* compute(Call& call) {
    std::copy(call.args + call.n, call.args + call.n + call.words(), call.arrays.data() + call.n);
    if (call.half) return call.by_kernel(true);
    if (shows(call.op->small)) {
        PyObject* out = call.show();
        if (out || PyErr_Occurred()) return out;
    } else if (call.op->small != Small::none && call.size <= SMALL) {
        PyObject* out = small_call(call.op->small, call.arrays.data(), call.n, call.kwnames);
        if (out || PyErr_Occurred()) return out;
    }
    PyObject* out = call.by_kernel(false);
    if (out || PyErr_Occurred()) return out;
    // Infinities and NaN are values like others: an op does not warn of them.
    Ref token(PyContextVar_Set(known.warnings, known.quiet));
    if (!token) return nullptr;
    out = call_python(call.op->forward, call.arrays.data(), call.n, call.kwnames);
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (PyContextVar_Reset(known.warnings, token.object) < 0) PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return out;
}

// Says whether calls were being recorded when a view, and all that it views, were made.
bool recorded(const Value* value) { return !viewed_by(value) || PyTuple_GET_ITEM(value->view, 3) == Py_True; }

// Remembers that `result` views the first input, if it does share its memory.
bool see(Call& call, Value* result, bool grad) {
    PyObject* base = PyArray_BASE(as_array(result->array));
    if (!is_value(call.args[0])) return true;
    if (result->array != call.arrays[0] && base != call.arrays[0] &&
        (!base || base != PyArray_BASE(as_array(call.arrays[0]))))
        return true; // a copy, whose own reshaping made it a view of something else
    auto* viewed = as_value(call.args[0]);
    result->owner = Py_NewRef(some(viewed->owner) ? viewed->owner : call.args[0]);
    if (!call.params()) return false;
    result->view = PyTuple_Pack(4, call.args[0], reinterpret_cast<PyObject*>(call.op), call.params(),
                               grad && recorded(viewed) ? Py_True : Py_False);
    result->seen = as_value(result->owner)->changes;
    return result->view != nullptr;
}

bool codes(PyObject* payload) {
    auto* type = reinterpret_cast<PyObject*>(Py_TYPE(payload));
    for (Py_ssize_t i = 0; known.codes && i < PyTuple_GET_SIZE(known.codes); ++i)
        if (PyTuple_GET_ITEM(known.codes, i) == type) return true;
    return false;
}

// Wraps what was computed: a value, or a tuple of values. nullptr without an exception where that is not plain.
PyObject* wrap(Call& call, PyObject* out, PyObject* names, bool grad) {
    if (call.op->outputs == 1) {
        Ref array;
        if (PyArray_CheckExact(out))
            array = Ref(Py_NewRef(out));
        else if (PyArray_IsScalar(out, Generic))
            array = Ref(PyArray_FromScalar(out, nullptr));
        else if (!call.op->view && codes(out))
            array = Ref(Py_NewRef(out));
        if (!array) return nullptr;
        Value* result = made(array.object, names);
        if (result && call.op->view && !see(call, result, grad)) Py_CLEAR(result);
        return reinterpret_cast<PyObject*>(result);
    }
    if (!PyTuple_Check(out) || PyTuple_GET_SIZE(out) != call.op->outputs) return nullptr;
    Ref several(PyTuple_New(call.op->outputs));
    for (Py_ssize_t i = 0; several && i < call.op->outputs; ++i) {
        PyObject* one = PyTuple_GET_ITEM(out, i);
        Ref array(PyArray_CheckExact(one) ? Py_NewRef(one) : PyArray_FromAny(one, nullptr, 0, 0, 0, nullptr));
        Value* result = array ? made(array.object, names ? PyTuple_GET_ITEM(names, i) : nullptr) : nullptr;
        if (!result) return nullptr;
        PyTuple_SET_ITEM(several.object, i, reinterpret_cast<PyObject*>(result));
    }
    return several.release();
}

// Reads what is in force; false with an exception.
bool look_around(Around& around) {
    PyObject* found = nullptr;
    if (PyContextVar_Get(known.state, known.default_state, &found) < 0) return false;
    Ref state(found);
    if (!PyTuple_Check(found) || PyTuple_GET_SIZE(found) < 3) return true;
    around.grad = PyTuple_GET_ITEM(found, 0) == Py_True;
    if (PyTuple_GET_ITEM(found, 2) == Py_True) return true;
    PyObject* top = PyTuple_GET_ITEM(found, 1);
    around.common = top == Py_None;
    return around.common || look_for_autocast(top, around);
}

} // namespace

PyObject* common_call(Op* op, PyObject* const* args, Py_ssize_t n, PyObject* kwnames, bool grad) {
    auto* self = reinterpret_cast<PyObject*>(op);
    Call call(op, args, n, kwnames);
    if (op->mirror || !look(call, grad)) return whole_way(self, args, n, kwnames);

    Ref ruled; // what the rule said
    Ref names;
    Ref out;
    if ((shows(op->small) || joins(op->small)) && !call.any_named()) {
        // What is made of values without names has none, and what can be made needs no rule.
        out = Ref(shows(op->small) ? call.show() : call.join());
        if (!out && PyErr_Occurred()) return recoverable() ? whole_way(self, args, n, kwnames) : nullptr;
    }
    if (out) {
    } else if (op->same) {
        if (is_value(args[0])) names = Ref(Py_XNewRef(as_value(args[0])->names));
    } else if (PyObject* found; op->elementwise && op->outputs == 1 && simple_names(call, found)) {
        names = Ref(Py_XNewRef(found));
    } else {
        ruled = Ref(call.names_by_rule());
        if (!ruled) return recoverable() ? whole_way(self, args, n, kwnames) : nullptr;
        names = Ref(Py_NewRef(op->outputs == 1 ? PyTuple_GET_ITEM(ruled.object, 0) : ruled.object));
    }
    if (!out) out = Ref(compute(call));
    Ref result(out ? wrap(call, out.object, names.object, grad) : nullptr);
    if (!result) return !PyErr_Occurred() || recoverable() ? whole_way(self, args, n, kwnames) : nullptr;
    if (grad && call.recorded && op->differentiable) {
        Ref results(op->outputs == 1 ? PyTuple_Pack(1, result.object) : Py_NewRef(result.object));
        if (!results || (floating(PyTuple_GET_ITEM(results.object, 0)) && !on_tape(call, results.object))) return nullptr;
    }
    return result.release();
}

PyObject* call_op(PyObject* self, PyObject* const* args, size_t flags, PyObject* kwnames) {
    auto* op = reinterpret_cast<Op*>(self);
    Py_ssize_t n = PyVectorcall_NARGS(flags);
    if (!op->prepared && !prepare(op)) return nullptr;
    Around around;
    if (!look_around(around)) return nullptr;
    if (!around.common) return whole_way(self, args, n, kwnames);
    if (!around.narrow || !(op->narrow || op->wide)) return common_call(op, args, n, kwnames, around.grad);
    Brought brought;
    if (!brought.bring(op, args, n, kwnames, around)) return PyErr_Occurred() ? nullptr : whole_way(self, args, n, kwnames);
    return common_call(op, brought.all(), n, kwnames, around.grad);
}

} // namespace workbench::eager
