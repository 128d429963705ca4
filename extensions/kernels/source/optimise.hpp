#pragma once

#include "layout.hpp"

namespace workbench {

struct AdamStep {
    float rate, beta1, beta2, epsilon, decay, correction1, correction2_root;
    bool decoupled;
};

void bind_optimise(nb::module_& module);

}  // namespace workbench
