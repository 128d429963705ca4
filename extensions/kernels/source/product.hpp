// Our own products of matrices, in floats and doubles, on our own threads.
#pragma once

#include <cstdint>

namespace workbench {

// A matrix in memory: entry (i, j) is data[i · row + j · column].
template <typename T>
struct Lying {
    const T* data;
    std::int64_t row, column;
};

// out[m, n], without gaps, = a[m, k] b[k, n]; alone, on the calling thread. An entry's products are added in one order
// whatever the threads are.
template <typename T>
void own_product(Lying<T> a, Lying<T> b, std::int64_t m, std::int64_t n, std::int64_t k, T* out,
                 bool alone = false);

}  // namespace workbench
