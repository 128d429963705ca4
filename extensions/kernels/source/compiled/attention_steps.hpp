// What steps of attention share: heads as they lie in a slot.
#pragma once

#include "../attention.hpp"
#include "steps.hpp"

namespace workbench::compiled {

inline HeadsInPlace heads_of(const Layout& layout) {
    HeadsInPlace heads;
    heads.shape = layout.get_dims(), heads.strides = layout.get_strides();
    for (std::size_t i = 0; i < 3; ++i)
        if (heads.shape[i] == 1) heads.strides[i] = 0;
    return heads;
}

inline bool fits(const Layout& layout) {
    if (layout.get_inner_nblks() || layout.get_dims().size() != 4) return false;
    const HeadsInPlace heads = heads_of(layout);
    // As gemm takes it: rows no closer than they are long.
    return (heads.shape[3] == 1 || heads.strides[3] == 1) && (heads.shape[2] == 1 || heads.strides[2] >= heads.shape[3]);
}

}  // namespace workbench::compiled
