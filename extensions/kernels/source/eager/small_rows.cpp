// What is computed along rows of small arrays: sums, means, softmax, normalisation, products.
#include "small_arrays.hpp"

#include "../layer_norm.hpp"
#include "../softmax.hpp"

#include <algorithm>

#define WORKBENCH_LEAVES "leaves/small_product.inl"
#define WORKBENCH_LEAVES_WIDE
#include "../dispatch.hpp"

namespace workbench::eager {
namespace {

constexpr npy_intp MULTIPLIED = 8192; // products of numbers, up to which they are made here rather than by BLAS

// Which dims are reduced: the first ones, or the last ones, of an array.
struct Reduced {
    npy_intp outer = 1, inner = 1;
    bool first = false; // the outer ones
    int start = 0, end = 0;

    // False where the parameter is no tuple of neighbouring dims in order, on one side.
    bool read(PyObject* dims, PyArrayObject* array) {
        if (!PyTuple_Check(dims)) return false;
        const int ndim = PyArray_NDIM(array);
        const int count = static_cast<int>(PyTuple_GET_SIZE(dims));
        for (int i = 0; i < count; ++i) {
            PyObject* one = PyTuple_GET_ITEM(dims, i);
            int overflow = 0;
            if (!PyLong_CheckExact(one)) return false;
            const long at = PyLong_AsLongAndOverflow(one, &overflow);
            if (overflow || at < 0 || at >= ndim) return false;
            if (i == 0) start = static_cast<int>(at);
            else if (at != start + i) return false;
        }
        end = start + count;
        first = start == 0;
        if (count == 0 ? ndim != 0 : !first && end != ndim) return false;
        for (int d = 0; d < ndim; ++d) ((d < (first ? end : start)) ? outer : inner) *= PyArray_DIM(array, d);
        return true;
    }
    npy_intp count() const { return first ? outer : inner; }
};

// Sums blocks of n values that lie one after the other.
template <class T>
void sum_blocks(const T* a, npy_intp blocks, double* sums, npy_intp n) {
    for (npy_intp i = 0; i < n; ++i) sums[i] = 0;
    for (npy_intp block = 0; block < blocks; ++block)
        for (npy_intp i = 0; i < n; ++i) sums[i] += a[block * n + i];
}

// Sums each of several rows of n values.
template <class T>
void sum_rows(const T* a, npy_intp rows, double* sums, npy_intp n) {
    for (npy_intp row = 0; row < rows; ++row) {
        // Four at a time: one sum after the other waits for each addition.
        double total = 0, part[4] = {};
        npy_intp i = 0;
        for (; i + 4 <= n; i += 4)
            for (int lane = 0; lane < 4; ++lane) part[lane] += a[row * n + i + lane];
        for (; i < n; ++i) total += a[row * n + i];
        sums[row] = total + ((part[0] + part[1]) + (part[2] + part[3]));
    }
}

template <class T>
PyObject* reduced(bool mean, PyObject* one, PyObject* dims, PyObject* keepdim) {
    PyArrayObject* array = as_array(one);
    Reduced which;
    if (!which.read(dims, array) || which.count() == 0 || (keepdim != Py_True && keepdim != Py_False)) return nullptr;
    npy_intp sizes[NPY_MAXDIMS];
    int left = 0;
    for (int d = 0; d < PyArray_NDIM(array); ++d) {
        const bool gone = d >= which.start && d < which.end;
        if (!gone || keepdim == Py_True) sizes[left++] = gone ? 1 : PyArray_DIM(array, d);
    }
    PyObject* out = PyArray_SimpleNew(left, sizes, PyArray_TYPE(array));
    if (!out) return nullptr;
    double sums[SMALL];
    which.first ? sum_blocks(data<T>(one), which.outer, sums, which.inner)
                : sum_rows(data<T>(one), which.outer, sums, which.inner);
    const npy_intp kept = PyArray_SIZE(as_array(out));
    const double count = static_cast<double>(which.count());
    for (npy_intp i = 0; i < kept; ++i) data<T>(out)[i] = static_cast<T>(mean ? sums[i] / count : sums[i]);
    return out;
}

// Says whether `sizes` are those of the last dims of the array, and fewer than all.
bool last_sizes(PyObject* sizes, PyArrayObject* array) {
    if (!PyTuple_Check(sizes)) return false;
    const Py_ssize_t dims = PyTuple_GET_SIZE(sizes), extra = PyArray_NDIM(array) - dims;
    if (extra < 1) return false;
    for (Py_ssize_t d = 0; d < dims; ++d) {
        PyObject* one = PyTuple_GET_ITEM(sizes, d);
        int overflow = 0;
        if (!PyLong_CheckExact(one)) return false;
        if (PyLong_AsLongLongAndOverflow(one, &overflow) != PyArray_DIM(array, static_cast<int>(d + extra)) || overflow) return false;
    }
    return true;
}

template <class T>
PyObject* sum_to(PyObject* one, PyObject* wanted) {
    PyArrayObject* array = as_array(one);
    if (!last_sizes(wanted, array) || PyArray_SIZE(array) == 0) return nullptr;
    const int dims = static_cast<int>(PyTuple_GET_SIZE(wanted));
    PyObject* out = PyArray_SimpleNew(dims, PyArray_DIMS(array) + PyArray_NDIM(array) - dims, PyArray_TYPE(array));
    if (!out) return nullptr;
    const npy_intp kept = PyArray_SIZE(as_array(out));
    double sums[SMALL];
    sum_blocks(data<T>(one), PyArray_SIZE(array) / kept, sums, kept);
    for (npy_intp i = 0; i < kept; ++i) data<T>(out)[i] = static_cast<T>(sums[i]);
    return out;
}

// Along the last dim.
template <class T>
PyObject* softmax(bool logarithm, PyObject* one, PyObject* dim) {
    PyArrayObject* array = as_array(one);
    const int last = PyArray_NDIM(array) - 1;
    double at = 0;
    if (last < 0 || !PyLong_CheckExact(dim) || !number(dim, at) || at != last) return nullptr;
    PyObject* out = PyArray_SimpleNew(PyArray_NDIM(array), PyArray_DIMS(array), PyArray_TYPE(array));
    const npy_intp columns = PyArray_DIM(array, last);
    if (out) softmax_of_rows(data<T>(one), PyArray_SIZE(array) / columns, columns, logarithm, data<T>(out));
    return out;
}

// Says whether an array has the type and the sizes of the last dims of another.
bool fits(PyObject* one, PyArrayObject* array, int count) {
    if (!simple(one) || PyArray_TYPE(as_array(one)) != PyArray_TYPE(array) || PyArray_NDIM(as_array(one)) != count) return false;
    for (int d = 0; d < count; ++d)
        if (PyArray_DIM(as_array(one), d) != PyArray_DIM(array, PyArray_NDIM(array) - count + d)) return false;
    return true;
}

template <class T>
PyObject* layer_norm(PyObject* const* arrays, Py_ssize_t n, PyObject* dims, PyObject* epsilon) {
    PyArrayObject* array = as_array(arrays[0]);
    const int ndim = PyArray_NDIM(array);
    double normalised = 0, eps = 0;
    if (n > 3 || !PyLong_CheckExact(dims) || !number(dims, normalised) || !number(epsilon, eps)) return nullptr;
    if (normalised < 1 || normalised > ndim) return nullptr;
    const int count = static_cast<int>(normalised);
    for (Py_ssize_t i = 1; i < n; ++i)
        if (!fits(arrays[i], array, count)) return nullptr;
    npy_intp sizes[NPY_MAXDIMS], rows = 1;
    for (int d = 0; d < ndim; ++d) rows *= sizes[d] = d < ndim - count ? PyArray_DIM(array, d) : 1;
    const int type = PyArray_TYPE(array);
    Ref out(PyArray_SimpleNew(ndim, PyArray_DIMS(array), type));
    Ref mean(PyArray_SimpleNew(ndim, sizes, type)), rstd(PyArray_SimpleNew(ndim, sizes, type));
    if (!out || !mean || !rstd) return nullptr;
    layer_norm_of_rows(data<T>(arrays[0]), rows, PyArray_SIZE(array) / rows, n > 1 ? data<T>(arrays[1]) : nullptr,
                       n > 2 ? data<T>(arrays[2]) : nullptr, eps, data<T>(out.object), data<T>(mean.object), data<T>(rstd.object));
    for (npy_intp row = 0; row < rows; ++row)
        if (!(data<T>(rstd.object)[row] > 0)) return nullptr; // its squares left the type: the op's own code knows
    return PyTuple_Pack(3, out.object, mean.object, rstd.object);
}

void multiply(const float* a, const float* b, npy_intp m, npy_intp k, npy_intp n, float* out) {
    LEAF_WIDE(product_of_floats)(a, b, m, k, n, out);
}
void multiply(const double* a, const double* b, npy_intp m, npy_intp k, npy_intp n, double* out) {
    LEAF_WIDE(product_of_doubles)(a, b, m, k, n, out);
}

void multiply_rows(const float* a, const float* b, const float* c, npy_intp m, npy_intp k, npy_intp n, float* out) {
    LEAF_WIDE(linear_of_floats)(a, b, c, m, k, n, out);
}
void multiply_rows(const double* a, const double* b, const double* c, npy_intp m, npy_intp k, npy_intp n, double* out) {
    LEAF_WIDE(linear_of_doubles)(a, b, c, m, k, n, out);
}

// Of values [..., k], a weight [n, k] and perhaps a bias [n].
template <class T>
PyObject* linear(PyObject* const* arrays, Py_ssize_t count) {
    PyArrayObject *x = as_array(arrays[0]), *weight = as_array(arrays[1]);
    for (Py_ssize_t i = 1; i < count; ++i)
        if (!simple(arrays[i]) || PyArray_TYPE(as_array(arrays[i])) != PyArray_TYPE(x)) return nullptr;
    const int dims = PyArray_NDIM(x);
    if (dims < 1 || PyArray_NDIM(weight) != 2 || PyArray_DIM(weight, 1) != PyArray_DIM(x, dims - 1)) return nullptr;
    const npy_intp inner = PyArray_DIM(weight, 1), wide = PyArray_DIM(weight, 0), rows = PyArray_SIZE(x) / inner;
    const T* bias = count > 2 ? data<T>(arrays[2]) : nullptr;
    if (bias && (PyArray_NDIM(as_array(arrays[2])) != 1 || PyArray_DIM(as_array(arrays[2]), 0) != wide)) return nullptr;
    if (rows * wide > SMALL || wide * inner > SMALL || rows * wide * inner > MULTIPLIED) return nullptr;
    npy_intp sizes[NPY_MAXDIMS];
    std::copy(PyArray_DIMS(x), PyArray_DIMS(x) + dims, sizes);
    sizes[dims - 1] = wide;
    PyObject* out = PyArray_SimpleNew(dims, sizes, PyArray_TYPE(x));
    if (out) multiply_rows(data<T>(arrays[0]), data<T>(arrays[1]), bias, rows, inner, wide, data<T>(out));
    return out;
}

// The numbers of a matrix row by row: as they lie, or brought to `room`, so that the same numbers come of it however it lies.
template <class T>
const T* by_rows(PyArrayObject* matrix, T (&room)[SMALL]) {
    if (PyArray_IS_C_CONTIGUOUS(matrix)) return static_cast<const T*>(PyArray_DATA(matrix));
    const npy_intp rows = PyArray_DIM(matrix, 0), columns = PyArray_DIM(matrix, 1);
    for (npy_intp row = 0; row < rows; ++row)
        for (npy_intp column = 0; column < columns; ++column)
            room[row * columns + column] = *static_cast<const T*>(PyArray_GETPTR2(matrix, row, column));
    return room;
}

// Of two matrices.
template <class T>
PyObject* matmul(PyObject* x, PyObject* y) {
    if (!plain(y) || PyArray_TYPE(as_array(y)) != PyArray_TYPE(as_array(x))) return nullptr;
    PyArrayObject *a = as_array(x), *b = as_array(y);
    if (PyArray_SIZE(b) > SMALL || PyArray_NDIM(a) != 2 || PyArray_NDIM(b) != 2 || PyArray_DIM(a, 1) != PyArray_DIM(b, 0)) return nullptr;
    npy_intp sizes[] = {PyArray_DIM(a, 0), PyArray_DIM(b, 1)};
    const npy_intp inner = PyArray_DIM(a, 1);
    if (sizes[0] * sizes[1] > SMALL || sizes[0] * sizes[1] * inner > MULTIPLIED) return nullptr;
    PyObject* out = PyArray_SimpleNew(2, sizes, PyArray_TYPE(a));
    T left[SMALL], right[SMALL];
    if (out) multiply(by_rows(a, left), by_rows(b, right), sizes[0], inner, sizes[1], data<T>(out));
    return out;
}

} // namespace

template <class T>
PyObject* small_rows(Small small, PyObject* const* arrays, Py_ssize_t n, PyObject* kwnames) {
    PyObject* first = arrays[0];
    if (!(small == Small::matmul ? plain(first) : simple(first)) || PyArray_SIZE(as_array(first)) == 0) return nullptr;
    const Py_ssize_t words = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    PyObject* const* params = arrays + n;
    const auto words_are = [&](const char* one, const char* other) {
        return words == 2 && named(kwnames, 0, one) && named(kwnames, 1, other);
    };
    switch (small) {
        case Small::sum:
        case Small::mean:
            if (n != 1 || !words_are("dim", "keepdim")) return nullptr;
            return reduced<T>(small == Small::mean, first, params[0], params[1]);
        case Small::sum_to: return n == 1 && words == 1 && named(kwnames, 0, "sizes") ? sum_to<T>(first, params[0]) : nullptr;
        case Small::softmax:
        case Small::log_softmax:
            if (n != 1 || words != 1 || !named(kwnames, 0, "dim")) return nullptr;
            return softmax<T>(small == Small::log_softmax, first, params[0]);
        case Small::layer_norm: return words_are("count", "eps") ? layer_norm<T>(arrays, n, params[0], params[1]) : nullptr;
        case Small::linear: return (n == 2 || n == 3) && !words ? linear<T>(arrays, n) : nullptr;
        case Small::matmul: return n == 2 && !words ? matmul<T>(first, arrays[1]) : nullptr;
        default: return nullptr;
    }
}

template PyObject* small_rows<float>(Small, PyObject* const*, Py_ssize_t, PyObject*);
template PyObject* small_rows<double>(Small, PyObject* const*, Py_ssize_t, PyObject*);

} // namespace workbench::eager
