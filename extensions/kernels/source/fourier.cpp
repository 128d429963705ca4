// The middle of a long Fourier transform done as two sets of short ones: a product with roots of unity, turned over.
#include "fourier.hpp"

#include <algorithm>
#include <complex>

namespace workbench {
namespace {

template <typename T>
using Table = nb::ndarray<const std::complex<T>, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T>
using TableOut = nb::ndarray<std::complex<T>, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// A tile of this many rows and columns is multiplied along its rows, and turned over in the cache.
constexpr std::int64_t high = 64, wide = 16;

// out[first + j][i] = values[i][j] · roots[i][first + j]: some columns of a table, by the thread that calls.
template <typename T>
void twiddle_transpose(const Table<T>& values, const Table<T>& roots, const TableOut<T>& out, std::int64_t first) {
    const std::int64_t rows = values.shape(0), columns = values.shape(1), all = roots.shape(1);
    if (static_cast<std::int64_t>(roots.shape(0)) != rows || static_cast<std::int64_t>(out.shape(0)) != all ||
        static_cast<std::int64_t>(out.shape(1)) != rows || first < 0 || first > all - columns)
        refuse("twiddle_transpose: the values are columns of the table of roots, the output has the shape of its transpose");
    const T* x = reinterpret_cast<const T*>(values.data());
    const T* w = reinterpret_cast<const T*>(roots.data()) + 2 * first;
    auto* y = reinterpret_cast<std::complex<T>*>(out.data()) + first * rows;
    const nb::gil_scoped_release release;
    alignas(64) std::complex<T> tile[high * wide];
    for (std::int64_t left = 0; left < columns; left += wide)
        for (std::int64_t top = 0; top < rows; top += high) {
            const std::int64_t across = std::min(wide, columns - left), down = std::min(high, rows - top);
            for (std::int64_t i = 0; i < down; ++i) {
                const T *from = x + 2 * ((top + i) * columns + left), *by = w + 2 * ((top + i) * all + left);
                T* to = reinterpret_cast<T*>(tile + i * wide);
                for (std::int64_t j = 0; j < across; ++j) {
                    to[2 * j] = from[2 * j] * by[2 * j] - from[2 * j + 1] * by[2 * j + 1];
                    to[2 * j + 1] = from[2 * j] * by[2 * j + 1] + from[2 * j + 1] * by[2 * j];
                }
            }
            auto* out_at = y + left * rows + top;
            for (std::int64_t j = 0; j < across; ++j)
                for (std::int64_t i = 0; i < down; ++i) out_at[j * rows + i] = tile[i * wide + j];
        }
}

}  // namespace

void bind_fourier(nb::module_& module) {
    module.def("twiddle_transpose", &twiddle_transpose<float>, nb::arg("values").noconvert(), nb::arg("roots").noconvert(),
               nb::arg("out").noconvert(), nb::arg("first"));
    module.def("twiddle_transpose", &twiddle_transpose<double>, nb::arg("values").noconvert(), nb::arg("roots").noconvert(),
               nb::arg("out").noconvert(), nb::arg("first"));
}

}  // namespace workbench
