// Fourier transforms whose lengths come apart into small primes: see fourier.cpp.
#pragma once

#include <cstdint>

#include <nanobind/nanobind.h>

namespace workbench {

// One pass over a transform: butterflies of `radix` values that lie `apart` rows from each other, and the roots of unity
// that turn their results, [apart, radix - 1] complex numbers.
template <typename T>
struct FourierLevel {
    std::int64_t radix, apart;
    const T* roots;
};

void bind_fourier(nanobind::module_& module);

}  // namespace workbench
