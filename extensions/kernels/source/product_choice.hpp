// Which of several ways a product of floats is computed: the fastest on this machine, measured once for a class
// of shapes and kept for later processes.
#pragma once

#include <cstdint>

#include "layout.hpp"

namespace workbench {

// out[m, n], without gaps, = a b, where a is [m, k] or, transposed, [k, m] in memory, and b [k, n] or [n, k].
struct Product {
    const float* a;
    std::int64_t a_row;
    bool a_transposed;
    const float* b;
    std::int64_t b_row;
    bool b_transposed;
    std::int64_t m, n, k;
    float* out;
};

// On the threads that KernelScope allows.
void multiply(const Product& product);
// Whether one of many products of these sizes, each on one thread, is better our own; else it is oneDNN's.
bool own_in_a_batch(const Product& one, std::int64_t entries);
// Our own, on the calling thread.
void own_entry(const Product& one);

void bind_product_choice(nb::module_& module);

}  // namespace workbench
