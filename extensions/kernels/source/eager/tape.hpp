// Calls put on the tape: what is kept of their inputs and outputs for the gradient rule, and of what no numbers are.
#pragma once

#include "current_call.hpp"

namespace workbench::eager {

// Says whether a result can have a gradient.
inline bool floating(PyObject* result) {
    auto* value = as_value(result);
    return has_array(value) && floating(as_array(value->array));
}

// Puts the call on the tape, as workbench.core.tape.record does.
bool on_tape(Call& call, PyObject* results);

bool intern_tape();

} // namespace workbench::eager
