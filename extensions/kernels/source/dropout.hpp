#pragma once

#include "layout.hpp"

namespace workbench {

// By how much what is kept is multiplied, what is added to it, and what to the others, which become zero.
struct Kept {
    double scale, high = 0.0, low = 0.0;
};
// Drops a share `p` of values that lie without gaps in the order that `strides` give. Those along dims `drawn`, from the first to
// before the second, are drawn each for itself, by its place in row-major order; along others they share theirs.
template <typename T>
void drop_values(const T* x, const Dims& shape, const Dims& strides, double p, std::uint64_t seed,
                 const std::pair<std::int64_t, std::int64_t>& drawn, const Kept& kept, T* out);

void bind_dropout_ops(nb::module_& module);

}  // namespace workbench
