#pragma once

#include "layout.hpp"

namespace workbench {

// Losses of float32 values x against targets t, place by place; d = x - t, p a bound, q a factor.
//   square: d^2, magnitude: |d|, huber: q n (d - n/2) where n is d within [-p, p],
//   logits: max(x, 0) - x t + ln(1 + e^-|x|), divergence: t (ln t - x), divergence_of_logs: e^t (t - x)
enum class Loss : int { square, magnitude, huber, logits, divergence, divergence_of_logs };

void bind_losses(nb::module_& module);

}  // namespace workbench
