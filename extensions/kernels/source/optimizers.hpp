// Optimizer steps: one pass over parameters, gradients and state, in place.
#pragma once

#include <cstdint>
#include <vector>

namespace workbench {

// What one step takes from a group of parameters. A rule reads what it knows and leaves the rest.
struct StepSettings {
    double rate;
    double beta1, beta2; // of moments; RMSprop's alpha and Adadelta's rho are `beta2`
    double epsilon;
    double decay; // of weights
    double momentum;
    double other; // SGD's dampening, Adagrad's decay of the rate, NAdam's decay of momentum
    bool nesterov, maximize;
    bool decoupled; // weights decay outside of the moments
    bool variant;   // Adam's amsgrad, RMSprop's centering
};

constexpr int most_state = 3; // arrays of state beside a parameter
constexpr int most_own = 3;   // numbers that depend on how many steps a parameter has made

// One parameter's memory: all of it dense, in one order.
struct StepPiece {
    void* parameter;
    const void* gradient;
    void* state[most_state];
    std::int64_t count;
    bool wide; // double, not float
    double own[most_own];
};

struct StepRule; // one optimizer's arithmetic

// The rule of a name, nullptr where there is none.
const StepRule* step_rule(const char* name);

// Sets the numbers of step number `step`; `product` is NAdam's running product, which it multiplies.
// First: there is no momentum yet.
void prepare_step(const StepRule& rule, const StepSettings& settings, double step, bool first, double* product,
                  StepPiece& piece);

// Makes the step; the caller has let go of the GIL. In order: one after the other, for pieces that share memory.
void run_step(const StepRule& rule, const StepSettings& settings, const std::vector<StepPiece>& pieces, bool in_order);

} // namespace workbench
