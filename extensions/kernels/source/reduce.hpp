#pragma once

#include <memory>

#include "layout.hpp"

namespace workbench {

enum class Reduction : int { sum, mean, amax, amin };

// A reduction of dense floats whose dimensions lie in memory in the order of the strides `order`; the result lies row by row. It
// may be run by several threads at once.
class PlannedReduction {
   public:
    PlannedReduction(Reduction kind, const Dims& shape, const Dims& order, const std::vector<bool>& reduced);
    void operator()(const float* x, float* out) const;

   private:
    struct Of;
    std::shared_ptr<const Of> of_;
};

void bind_reduce(nb::module_& module);

}  // namespace workbench
