// What ops are called under: whether calls are recorded, who looks on, and the types that `autocast` computes in.
#pragma once

#include "current_call.hpp"

namespace workbench::eager {

// What ops are called under, here and now.
struct Around {
    bool common = false; // ops only compute or record: nobody looks on
    bool grad = false;   // calls are recorded
    Ref narrow;          // the 16-bit type of `autocast`, where that is all that looks on
};

// Says whether `autocast` is all that looks on, of what does, and notes its type; false with an exception alone.
bool look_for_autocast(PyObject* top, Around& around);

// The inputs of an op, then its parameters, in the types that it is computed in under `autocast`: as `Autocast.process`
// in workbench/core/autocast.py.
class Brought {
   public:
    // False with an exception, or without one where some input is no plain array.
    bool bring(const Op* op, PyObject* const* args, Py_ssize_t n, PyObject* kwnames, const Around& around);
    PyObject* const* all() const { return all_.data(); }

   private:
    // By the op of that name, so that it is recorded as a call of its own.
    static PyObject* cast(PyObject* value, PyObject* type, bool grad);

    std::array<Ref, MOST_INPUTS> made_;
    std::array<PyObject*, MOST_INPUTS + MOST_PARAMETERS> all_;
};

bool intern_casts();

} // namespace workbench::eager
