// What steps of convolutions and of their gradients share.
#pragma once

#include "../grouped_convolution.hpp"
#include "../wide_groups.hpp"
#include "steps.hpp"

namespace workbench::compiled {

inline Geometry<2> geometry(const Dims& input, const Dims& weight, const Dims& stride, const Dims& padding, const Dims& dilation,
                            std::int64_t groups) {
    if (stride.size() != 2 || padding.size() != 2 || dilation.size() != 2) refuse("a compiled convolution has two spatial dims");
    return Geometry<2>(input, weight, {stride[0], stride[1]}, {padding[0], padding[1]}, {dilation[0], dilation[1]}, groups);
}

// oneDNN's code for everything, ten to a hundred times slower than what is made for the sizes.
inline bool is_slow(const std::string& implementation) {
    return implementation.find("ref") != std::string::npos || implementation.find("gemm") != std::string::npos;
}

// In training a convolution of small groups is no step: the eager kernels have code of their own, much faster than oneDNN's.
inline void expect_no_small_groups(const Geometry<2>& g) {
    if (takes_groups(g) || takes_wide_groups(g)) throw std::runtime_error("groups of few channels are faster by the eager kernel");
}

// The taps of a weight that meet more than padding, where the weight lies row by row.
inline Layout taps_layout(const Geometry<2>& g, const Layout& whole) {
    const Dims steps = row_major_strides(g.whole);
    Dims first(g.grouped_weight().size(), 0);
    first[first.size() - 2] = g.offset / steps[2], first[first.size() - 1] = g.offset % steps[2];
    return whole.submemory_desc(g.grouped_weight(), first);
}
inline Layout whole_layout(const Geometry<2>& g) {
    Dims sizes = g.grouped_weight();
    sizes[sizes.size() - 2] = g.whole[2], sizes[sizes.size() - 1] = g.whole[3];
    return describe_floats(sizes, row_major_strides(sizes));
}

}  // namespace workbench::compiled
