// What eager dispatch keeps in memory: values, recorded calls, ops, and calls as gradient rules see them.
//
// The fields that C++ follows without looking (`_owner`, `_grad_fn`, the tuples of a recorded call) are checked where
// Python sets them, so that nothing Python does can make them something else.
#pragma once

#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL workbench_numpy
#ifndef WORKBENCH_IMPORTS_NUMPY // one file does, for all
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <utility>

#include "../threads.hpp"

namespace workbench::eager {

// A reference that is given back.
struct Ref {
    PyObject* object = nullptr;
    Ref() = default;
    explicit Ref(PyObject* owned) : object(owned) {}
    Ref(Ref&& other) noexcept : object(std::exchange(other.object, nullptr)) {}
    Ref& operator=(Ref&& other) noexcept {
        std::swap(object, other.object);
        return *this;
    }
    Ref(const Ref&) = delete;
    ~Ref() { Py_XDECREF(object); }
    explicit operator bool() const { return object != nullptr; }
    PyObject* release() { return std::exchange(object, nullptr); }
};

// Calls of Python code: other threads run meanwhile, and the interpreter may end.
inline PyObject* call_python(PyObject* callable, PyObject* const* args, std::size_t count, PyObject* words) {
    try {
        return PyObject_Vectorcall(callable, args, count, words);
    } catch (...) {
        stay_for_ever();
    }
}
inline PyObject* look_up(PyObject* object, PyObject* name) {
    try {
        return PyObject_GetAttr(object, name);
    } catch (...) {
        stay_for_ever();
    }
}

inline bool some(PyObject* object) { return object && object != Py_None; }

// ------------------------------------------------------------------------------------------------- values

struct Value {
    PyObject_HEAD
    PyObject* array;
    PyObject* names;
    PyObject* labels; // what a parameter's dims are called: it counts beside named values only
    PyObject* grad_fn; // a Node, or nothing
    PyObject* view;
    PyObject* owner; // a Value, or nothing
    PyObject* leaf;
    PyObject* past;
    PyObject* mirrors;
    long long changes;
    long long since; // calls recorded before this number did not know it as asking for a gradient
    long long seen;
    int output;
    char requires_grad;
    char borrowed; // it requires one only since what it views does: no gradient goes on from it
    char inference;
};

struct Node {
    PyObject_HEAD
    PyObject* op;
    PyObject* inputs; // a tuple, or nothing; so are `saved` and `versions`
    PyObject* params;
    PyObject* saved;
    PyObject* versions;
    PyObject* packed;
    PyObject* hooks;
    PyObject* before;
    PyObject* after;
    long long serial;
};

// One call as a gradient rule sees it.
struct Recorded {
    PyObject_HEAD
    PyObject* op;
    PyObject* inputs;
    PyObject* params;
    PyObject* outs;
    PyObject* out;
    PyObject* needs;
};

extern PyTypeObject* value_base;
extern PyTypeObject* node_base;
extern PyTypeObject* recorded_base;
extern long long serial; // of the next recorded call

inline Value* as_value(PyObject* object) { return reinterpret_cast<Value*>(object); }
inline Node* as_node(PyObject* object) { return reinterpret_cast<Node*>(object); }
inline bool is_value(PyObject* object) { return PyObject_TypeCheck(object, value_base); }
inline PyArrayObject* as_array(PyObject* object) { return reinterpret_cast<PyArrayObject*>(object); }

// Says whether the payload is a plain array of NumPy.
inline bool has_array(const Value* value) { return value->array && PyArray_CheckExact(value->array); }

// Says whether numbers of this type can have a gradient.
inline bool floating(PyArrayObject* array) {
    int number = PyArray_TYPE(array);
    return PyTypeNum_ISFLOAT(number) || PyTypeNum_ISCOMPLEX(number) || number >= NPY_USERDEF;
}

// How often the memory of a value was changed: its owner counts.
inline long long version_of(const Value* value) {
    return some(value->owner) ? as_value(value->owner)->changes : value->changes;
}

// A new value of the type in use around `array`; nullptr with an exception.
Value* made(PyObject* array, PyObject* names);

bool add_values(PyObject* module);

// ---------------------------------------------------------------------------------------------------- ops

// What small arrays are computed with right here: for them a call of NumPy costs more than the numbers.
enum class Small {
    none, add, sub, mul, div, relu_gradient, // of pairs
    neg, relu, sigmoid, softplus,
    sum, mean, sum_to, softmax, log_softmax, layer_norm, linear, matmul, // along rows: see small_rows.cpp
    eq, ne, lt, le, gt, ge,
    cat, stack, // see joining.hpp
    expand, index, permute, reshape, squeeze, unsqueeze, flatten, // views: see views.hpp
};

inline bool joins(Small small) { return small == Small::cat || small == Small::stack; }
inline bool shows(Small small) { return small >= Small::expand; }

struct Op {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject* forward;
    PyObject* cache; // names of the outputs by dims of the inputs and parameters
    PyObject* vjp;
    Small small;
    int skip;
    int outputs;
    bool prepared, keeps, same, elementwise, widens, view, differentiable, saves_output, saves_part, saves_nothing, saves_others, mirror,
        narrow, wide, whole_numbers, plain_saves, crossed;
    unsigned reads, own, outputs_read, outputs_for; // positions as bits, where `plain_saves` // what `autocast` computes it in
};

extern PyTypeObject* op_base;

// Reads the record of an op, once; false with an exception.
bool prepare(Op* op);

// Reads the whole number `name` of `owner`; false with an exception.
bool whole(PyObject* owner, const char* name, int& out);

bool add_ops(PyObject* module);
bool add_size(PyObject* module);

// --------------------------------------------------------------------------------------------------- core

// What `workbench.core` tells about itself, once.
struct Known {
    PyObject* state = nullptr;         // the context variable
    PyObject* default_state = nullptr; // what it is where nothing was set
    PyObject* value_type = nullptr;    // the type of new values
    PyObject* node_type = nullptr;
    PyObject* apply = nullptr;    // the whole dispatch
    PyObject* names_of = nullptr; // (op, inputs, params) -> names of each output
    PyObject* record = nullptr;   // (op, inputs, params, results)
    PyObject* tape = nullptr;     // the tape's module dict: `watching`
    PyObject* saves = nullptr;    // the type that says what a gradient rule reads
    PyObject* abstract = nullptr; // the payload of what has a shape and a type alone
    PyObject* codes = nullptr;    // the types of payloads that are codes, a tuple
    PyObject* warnings = nullptr; // NumPy's context variable of what to do about invalid numbers
    PyObject* quiet = nullptr;    // and its value for nothing
    PyObject* table = nullptr;    // the ops, by attribute
    PyObject* autocast = nullptr; // the type of the interpreter that casts inputs
    int bfloat16 = -1;            // NumPy's number of that type, which is not one of its own
};

extern Known known;

} // namespace workbench::eager
