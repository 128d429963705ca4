// How to walk two arrays of one shape at once.
#pragma once

#include <algorithm>
#include <numeric>

#include "layout.hpp"

namespace workbench {

// Strides of `small` stretched to `shape`; refuses shapes that do not broadcast to it.
inline Dims stretched_strides(const Dims& small, const Dims& strides, const Dims& shape) {
    const std::size_t missing = shape.size() - small.size();
    bool fits = small.size() <= shape.size();
    Dims stretched(shape.size(), 0);
    for (std::size_t i = 0; fits && i < small.size(); ++i) {
        if (small[i] == shape[missing + i])
            stretched[missing + i] = small[i] == 1 ? 0 : strides[i];
        else
            fits = small[i] == 1;
    }
    if (!fits) refuse("shape " + text(small) + " does not broadcast to " + text(shape));
    return stretched;
}

// The second operand seen from the memory order of the first: dimensions from slow to fast, merged where both operands
// walk them evenly.
struct Broadcast {
    Dims sizes, steps;  // of the merged dimensions; steps are the second operand's
};

inline Broadcast merge(const Dims& shape, const Dims& order_strides, const Dims& small_strides) {
    std::vector<std::size_t> order(shape.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    order.erase(std::remove_if(order.begin(), order.end(), [&](std::size_t i) { return shape[i] == 1; }), order.end());
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return order_strides[a] > order_strides[b]; });
    Broadcast merged;
    for (const std::size_t i : order) {
        if (!merged.sizes.empty() && merged.steps.back() == small_strides[i] * shape[i]) {
            merged.sizes.back() *= shape[i];
            merged.steps.back() = small_strides[i];
        } else {
            merged.sizes.push_back(shape[i]);
            merged.steps.push_back(small_strides[i]);
        }
    }
    if (merged.sizes.empty()) merged.sizes.push_back(1), merged.steps.push_back(0);
    return merged;
}

}  // namespace workbench
