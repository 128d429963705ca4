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
// What attention does beside its products: the factor of scores, keys behind a query left out, and a share of weights dropped,
// which `seed` decides.
struct Attending {
    double scale;
    bool causal = false;
    double dropout = 0.0;
    std::uint64_t seed = 0;
};
// Attention for who brings the memory; `mask` has no data where there is none, and `normals` [N, H, L] is null where nobody wants
// them. On as many threads as OpenMP is told; it throws where oneDNN's gemm fails.
void attend(const HeadsInPlace& query, const HeadsInPlace& key, const HeadsInPlace& value, const HeadsInPlace& mask,
            const Attending& how, const HeadsInPlace& out, float* normals);
void attend_gradient(const HeadsInPlace& gradient, const HeadsInPlace& query, const HeadsInPlace& key, const HeadsInPlace& value,
                     const HeadsInPlace& output, const float* normals, const HeadsInPlace& mask, const Attending& how,
                     const HeadsInPlace& to_query, const HeadsInPlace& to_key, const HeadsInPlace& to_value);

void bind_attention(nb::module_& module);

}  // namespace workbench
