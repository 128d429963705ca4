// One call of an op on its way: what it is called with, and what the common way has to ask Python about it.
#pragma once

#include "joining.hpp"
#include "types.hpp"
#include "views.hpp"

#include <algorithm>
#include <array>

namespace workbench::eager {

constexpr npy_intp LARGE = 4096; // bytes; as in workbench.core.tape
constexpr Py_ssize_t MOST_INPUTS = 8;
constexpr Py_ssize_t MOST_PARAMETERS = 16;

// Clears an ordinary exception, so that the whole way can say what is wrong; leaves an interrupt.
bool recoverable();

PyObject* tuple_of(PyObject* const* values, Py_ssize_t n);
PyObject* shape_of(PyArrayObject* array);

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
    PyObject* params();

    bool any_named() const {
        return std::any_of(args, args + n, [](PyObject* one) { return is_value(one) && some(as_value(one)->names); });
    }

    // Finds the names of the outputs by the dims rule, or from what it said of the same dims before.
    PyObject* names_by_rule();

    // Runs the kernel, or that of 16-bit numbers, if it takes the call. Returns nullptr without an exception where it
    // does not.
    PyObject* by_kernel(bool halves);

    // What a view op shows, without its own code; nullptr without an exception where that has to look.
    PyObject* show() const { return n == 1 ? shown(op->small, arrays[0], args + 1, kwnames) : nullptr; }

    PyObject* join() const { return joined(op->small, arrays.data(), n, args + n, kwnames); }
};

bool intern_kernels();

} // namespace workbench::eager
