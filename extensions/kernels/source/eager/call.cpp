#include "call.hpp"

#include "joining.hpp"
#include "small_arrays.hpp"
#include "types.hpp"
#include "views.hpp"

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

constexpr npy_intp LARGE = 4096; // bytes; as in workbench.core.tape
constexpr Py_ssize_t MOST_INPUTS = 8;
constexpr Py_ssize_t MOST_PARAMETERS = 16;
constexpr Py_ssize_t MOST_CACHED = 512;

PyObject* word_kernel = nullptr;
PyObject* word_half_kernel = nullptr;
PyObject* word_dtype = nullptr;
PyObject* word_shape = nullptr;
PyObject* word_origin = nullptr;
PyObject* word_to = nullptr;
PyObject* words_dtype = nullptr; // ("dtype",)
PyObject* word_accepts = nullptr;
PyObject* word_run = nullptr;
PyObject* word_least = nullptr;
PyObject* word_watching = nullptr;

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

// Clears an ordinary exception, so that the whole way can say what is wrong; leaves an interrupt.
bool recoverable() {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return false;
    PyErr_Clear();
    return true;
}

PyObject* parameters(PyObject* const* values, PyObject* kwnames) {
    Ref params(PyDict_New());
    if (!params || !kwnames) return params.release();
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kwnames); ++i)
        if (PyDict_SetItem(params.object, PyTuple_GET_ITEM(kwnames, i), values[i]) < 0) return nullptr;
    return params.release();
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

struct Call {
    Op* op;
    PyObject* const* args;
    Py_ssize_t n;
    PyObject* kwnames;
    std::array<PyObject*, MOST_INPUTS + MOST_PARAMETERS> arrays; // then the parameters, as for a vectorcall
    Py_ssize_t held = 0;     // so many of the arrays are kept alive: NumPy computes without the GIL, and meanwhile
                             // another thread may give a tensor new memory
    bool recorded = false;   // some input requires a gradient
    bool moved = false;      // some input's memory was changed, or is shared
    bool large = false;      // some input is too large to be kept for nothing
    bool wants_rule = false; // some input has names that only the dims rule can put together
    bool half = false;       // some input is bfloat16, and the op computes: its kernel for that type is asked first
    npy_intp size = 0;
    Ref kept; // the parameters, once somebody keeps them

    Call(Op* op, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) : op(op), args(args), n(n), kwnames(kwnames) {}
    Call(const Call&) = delete;
    ~Call() {
        while (held) Py_DECREF(arrays[--held]);
    }

    Py_ssize_t words() const { return kwnames ? PyTuple_GET_SIZE(kwnames) : 0; }

    // The parameters by name, made once: a view and the tape keep the same. Nobody changes them.
    PyObject* params() {
        if (!kept) kept = Ref(parameters(args + n, kwnames));
        return kept.object;
    }

    // Looks at the inputs; false where this call is not a common one.
    // Where nothing is recorded, a view's place on the tape does not matter: gradient rules take transposes of weights.
    bool look(bool grad) {
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

    // Finds the names of an elementwise result, if they need no thought.
    bool simple_names(PyObject*& names) {
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

    bool any_named() const {
        return std::any_of(args, args + n, [](PyObject* one) { return is_value(one) && some(as_value(one)->names); });
    }

    // Names, shapes and parameters, on which alone the names of the outputs depend. The labels of a parameter count
    // as names where another input has names, see workbench.core.outcome.
    PyObject* key() {
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

    // Finds the names of the outputs by the dims rule, or from what it said of the same dims before.
    PyObject* names_by_rule() {
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

    // Runs the kernel if it takes the call. Returns nullptr without an exception where it does not.
    PyObject* by_kernel(PyObject* which) {
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

    // What a view op shows, without its own code; nullptr without an exception where that has to look.
    PyObject* show() const { return n == 1 ? shown(op->small, arrays[0], args + 1, kwnames) : nullptr; }

    PyObject* join() const { return joined(op->small, arrays.data(), n, args + n, kwnames); }

    // Computes here what is small, else runs the kernel, or the op's own array code.
    PyObject* compute() {
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
};

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
    PyObject* owner = some(viewed->owner) ? viewed->owner : call.args[0];
    if (!call.params()) return false;
    result->owner = Py_NewRef(owner);
    result->view = PyTuple_Pack(4, call.args[0], reinterpret_cast<PyObject*>(call.op), call.params(),
                               grad && recorded(viewed) ? Py_True : Py_False);
    result->seen = as_value(owner)->changes;
    return result->view != nullptr;
}

// Says whether a result can have a gradient.
bool floating(PyObject* result) {
    auto* value = as_value(result);
    return has_array(value) && workbench::eager::floating(as_array(value->array));
}

bool codes(PyObject* payload) {
    auto* type = reinterpret_cast<PyObject*>(Py_TYPE(payload));
    for (Py_ssize_t i = 0; known.codes && i < PyTuple_GET_SIZE(known.codes); ++i)
        if (PyTuple_GET_ITEM(known.codes, i) == type) return true;
    return false;
}

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
// gradient gathers, else a stand-in on the same place of the tape.
PyObject* stand_in(PyObject* one) {
    auto* value = as_value(one);
    PyArrayObject* array = as_array(value->array);
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
        PyObject* one = read || !is_value(call.args[i]) ? Py_NewRef(call.args[i]) : stand_in(call.args[i]);
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

// Puts the call on the tape, as workbench.core.tape.record does.
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

// What ops are called under, here and now.
struct Around {
    bool common = false; // ops only compute or record: nobody looks on
    bool grad = false;   // calls are recorded
    Ref narrow;          // the 16-bit type of `autocast`, where that is all that looks on
};

// Reads what is in force; false with an exception.
bool look_around(Around& around) {
    PyObject* found = nullptr;
    if (PyContextVar_Get(known.state, known.default_state, &found) < 0) return false;
    Ref state(found);
    if (!PyTuple_Check(found) || PyTuple_GET_SIZE(found) < 3) return true;
    around.grad = PyTuple_GET_ITEM(found, 0) == Py_True;
    PyObject* top = PyTuple_GET_ITEM(found, 1);
    if (PyTuple_GET_ITEM(found, 2) == Py_True) return true;
    if (top == Py_None) {
        around.common = true;
    } else if (known.autocast && PyTuple_Check(top) && PyTuple_GET_SIZE(top) == 2 &&
               reinterpret_cast<PyObject*>(Py_TYPE(PyTuple_GET_ITEM(top, 0))) == known.autocast &&
               PyTuple_GET_ITEM(top, 1) == Py_None) {
        around.narrow = Ref(look_up(PyTuple_GET_ITEM(top, 0), word_dtype));
        around.common = bool(around.narrow);
        return around.common;
    }
    return true;
}

// A call where nobody looks on, or the whole way.
PyObject* common_call(Op* op, PyObject* const* args, Py_ssize_t n, PyObject* kwnames, bool grad) {
    auto* self = reinterpret_cast<PyObject*>(op);
    Call call(op, args, n, kwnames);
    if (op->mirror || !call.look(grad)) return whole_way(self, args, n, kwnames);

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
    } else if (PyObject* found; op->elementwise && op->outputs == 1 && call.simple_names(found)) {
        names = Ref(Py_XNewRef(found));
    } else {
        ruled = Ref(call.names_by_rule());
        if (!ruled) return recoverable() ? whole_way(self, args, n, kwnames) : nullptr;
        names = Ref(Py_NewRef(op->outputs == 1 ? PyTuple_GET_ITEM(ruled.object, 0) : ruled.object));
    }
    if (!out) out = Ref(call.compute());
    Ref result(out ? wrap(call, out.object, names.object, grad) : nullptr);
    if (!result) return !PyErr_Occurred() || recoverable() ? whole_way(self, args, n, kwnames) : nullptr;
    if (grad && call.recorded && op->differentiable) {
        Ref results(op->outputs == 1 ? PyTuple_Pack(1, result.object) : Py_NewRef(result.object));
        if (!results || (floating(PyTuple_GET_ITEM(results.object, 0)) && !on_tape(call, results.object))) return nullptr;
    }
    return result.release();
}

// The inputs of an op, then its parameters, in the types that it is computed in under `autocast`: as `Autocast.process`
// in workbench/core/autocast.py.
class Brought {
   public:
    // False with an exception, or without one where some input is no plain array.
    bool bring(const Op* op, PyObject* const* args, Py_ssize_t n, PyObject* kwnames, const Around& around) {
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
    PyObject* const* all() const { return all_.data(); }

   private:
    // By the op of that name, so that it is recorded as a call of its own.
    static PyObject* cast(PyObject* value, PyObject* type, bool grad) {
        Ref to(look_up(known.table, word_to));
        if (!to) return nullptr;
        if (!PyObject_TypeCheck(to.object, op_base)) return PyErr_Format(PyExc_TypeError, "%R is not an op", to.object);
        auto* op = reinterpret_cast<Op*>(to.object);
        if (!op->prepared && !prepare(op)) return nullptr;
        PyObject* arguments[] = {value, type};
        return common_call(op, arguments, 1, words_dtype, grad);
    }

    std::array<Ref, MOST_INPUTS> made_;
    std::array<PyObject*, MOST_INPUTS + MOST_PARAMETERS> all_;
};

} // namespace

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

bool intern_words() {
    word_kernel = PyUnicode_InternFromString("kernel");
    word_accepts = PyUnicode_InternFromString("accepts");
    word_run = PyUnicode_InternFromString("run");
    word_least = PyUnicode_InternFromString("least");
    word_watching = PyUnicode_InternFromString("watching");
    word_half_kernel = PyUnicode_InternFromString("half_kernel");
    word_dtype = PyUnicode_InternFromString("dtype");
    word_to = PyUnicode_InternFromString("to");
    word_shape = PyUnicode_InternFromString("shape");
    word_origin = PyUnicode_InternFromString("_origin");
    words_dtype = word_dtype ? PyTuple_Pack(1, word_dtype) : nullptr;
    return word_kernel && word_accepts && word_run && word_least && word_watching && word_half_kernel && word_to && words_dtype && word_shape && word_origin;
}

} // namespace workbench::eager
