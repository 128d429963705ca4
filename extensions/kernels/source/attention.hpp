// Attention: averages of values by how well their keys match a query, and its gradient.
#pragma once

#include "layout.hpp"

namespace workbench {

// Rows of each head where they lie: [N, H, L, E], the values of a row beside each other. Steps are in floats, 0 where stretched.
struct HeadsInPlace {
    float* data = nullptr;
    Dims shape, strides;

    float* row(std::int64_t n, std::int64_t h, std::int64_t i) const { return data + n * strides[0] + h * strides[1] + i * strides[2]; }
};
// Attention without anything dropped or kept, for who brings the memory; `mask` has no data where there is none. As many threads
// as OpenMP is told; it throws where oneDNN's gemm fails.
void attend(const HeadsInPlace& query, const HeadsInPlace& key, const HeadsInPlace& value, const HeadsInPlace& mask, float scale,
            bool causal, const HeadsInPlace& out);

void bind_attention(nb::module_& module);

}  // namespace workbench
