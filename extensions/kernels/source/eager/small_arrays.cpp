#include "small_arrays.hpp"

#include "../doubles.hpp"
#include "../elementwise.hpp"
#include "../parametric_elementwise.hpp"

namespace workbench::eager {
namespace {

constexpr long long EXACT = 1LL << 24; // whole numbers up to here are floats of every type

// Says whether the dims of `b` are the last ones of `a`: then b repeats along a's memory.
bool ends_with(PyArrayObject* a, PyArrayObject* b) {
    int extra = PyArray_NDIM(a) - PyArray_NDIM(b);
    if (extra < 0) return false;
    for (int d = 0; d < PyArray_NDIM(b); ++d)
        if (PyArray_DIM(a, d + extra) != PyArray_DIM(b, d)) return false;
    return true;
}

template <class T, class R, class F>
void each_pair(const T* a, npy_intp na, const T* b, npy_intp nb, R* out, npy_intp n, F f) {
    if (na == n && nb == n) {
        for (npy_intp i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
    } else if (na == n && nb == 1) {
        for (npy_intp i = 0; i < n; ++i) out[i] = f(a[i], *b);
    } else if (na == n) {
        for (npy_intp i = 0, j = 0; i < n; ++i, j = j + 1 == nb ? 0 : j + 1) out[i] = f(a[i], b[j]);
    } else {
        for (npy_intp i = 0, j = 0; i < n; ++i, j = j + 1 == na ? 0 : j + 1) out[i] = f(a[j], b[i]);
    }
}

template <class T>
void small_binary(Small small, const T* a, npy_intp na, const T* b, npy_intp nb, T* out, npy_intp n) {
    switch (small) {
        case Small::add: return each_pair(a, na, b, nb, out, n, [](T x, T y) { return x + y; });
        case Small::sub: return each_pair(a, na, b, nb, out, n, [](T x, T y) { return x - y; });
        case Small::mul: return each_pair(a, na, b, nb, out, n, [](T x, T y) { return x * y; });
        case Small::div: return each_pair(a, na, b, nb, out, n, [](T x, T y) { return x / y; });
        default: return each_pair(a, na, b, nb, out, n, [](T g, T y) { return y <= 0 ? T(0) : g; }); // relu_gradient: where y is NaN, g
    }
}

// Whole numbers wrap around, as NumPy's do.
void small_binary(Small small, const npy_int64* a, npy_intp na, const npy_int64* b, npy_intp nb, npy_int64* out, npy_intp n) {
    using U = npy_uint64;
    switch (small) {
        case Small::add: return each_pair(a, na, b, nb, out, n, [](npy_int64 x, npy_int64 y) { return npy_int64(U(x) + U(y)); });
        case Small::sub: return each_pair(a, na, b, nb, out, n, [](npy_int64 x, npy_int64 y) { return npy_int64(U(x) - U(y)); });
        default: return each_pair(a, na, b, nb, out, n, [](npy_int64 x, npy_int64 y) { return npy_int64(U(x) * U(y)); });
    }
}

template <class T>
void small_comparison(Small small, const T* a, npy_intp na, const T* b, npy_intp nb, npy_bool* out, npy_intp n) {
    switch (small) {
        case Small::eq: return each_pair(a, na, b, nb, out, n, [](T x, T y) { return x == y; });
        case Small::ne: return each_pair(a, na, b, nb, out, n, [](T x, T y) { return x != y; });
        case Small::lt: return each_pair(a, na, b, nb, out, n, [](T x, T y) { return x < y; });
        case Small::le: return each_pair(a, na, b, nb, out, n, [](T x, T y) { return x <= y; });
        case Small::gt: return each_pair(a, na, b, nb, out, n, [](T x, T y) { return x > y; });
        default: return each_pair(a, na, b, nb, out, n, [](T x, T y) { return x >= y; });
    }
}

bool compares(Small small) { return small >= Small::eq && small <= Small::ge; }
bool pairs(Small small) { return (small >= Small::add && small <= Small::relu_gradient) || compares(small); }

template <class T>
void small_unary(Small small, const T* a, const double* numbers, T* out, npy_intp n) {
    switch (small) {
        case Small::neg:
            for (npy_intp i = 0; i < n; ++i) out[i] = -a[i];
            return;
        case Small::sigmoid: return sigmoid_of(a, n, out);
        case Small::softplus: return softplus_of(a, numbers[0], numbers[1], n, out);
        default: // relu, which lets NaN and either zero through
            for (npy_intp i = 0; i < n; ++i) out[i] = a[i] < 0 ? T(0) : a[i];
    }
}

// One operand of small arithmetic: an array of the type, or a number kept as one value of it.
template <class T>
struct Operand {
    T number;
    const T* values = nullptr;
    npy_intp count = 0;
    PyArrayObject* array = nullptr;

    Operand(PyObject* one, int type) {
        if (PyFloat_CheckExact(one)) {
            number = static_cast<T>(PyFloat_AS_DOUBLE(one));
            values = &number;
            count = 1;
        } else if (PyLong_CheckExact(one)) {
            int overflow = 0;
            long long whole = PyLong_AsLongLongAndOverflow(one, &overflow);
            if (overflow || (type != NPY_INT64 && (whole < -EXACT || whole > EXACT))) return;
            number = static_cast<T>(whole);
            values = &number;
            count = 1;
        } else if (simple(one) && PyArray_TYPE(as_array(one)) == type) {
            array = as_array(one);
            values = data<T>(one);
            count = PyArray_SIZE(array);
        }
    }
    Operand(const Operand&) = delete;
};

template <class T>
PyObject* small_pair(Small small, int type, PyObject* x, PyObject* y) {
    Operand<T> a(x, type), b(y, type);
    if (!a.values || !b.values) return nullptr;
    PyArrayObject* like = a.array && (!b.array || ends_with(a.array, b.array))   ? a.array
                          : b.array && (!a.array || ends_with(b.array, a.array)) ? b.array
                                                                                 : nullptr;
    if (!like || PyArray_SIZE(like) > SMALL || PyArray_SIZE(like) == 0) return nullptr;
    PyObject* out = PyArray_SimpleNew(PyArray_NDIM(like), PyArray_DIMS(like), compares(small) ? NPY_BOOL : type);
    if (!out) return nullptr;
    if (compares(small))
        small_comparison(small, a.values, a.count, b.values, b.count, data<npy_bool>(out), PyArray_SIZE(like));
    else
        small_binary(small, a.values, a.count, b.values, b.count, data<T>(out), PyArray_SIZE(like));
    return out;
}

// Says whether pairs of whole numbers are computed here. Their quotient is none.
bool pairs_whole(Small small) {
    return small == Small::add || small == Small::sub || small == Small::mul || compares(small);
}

// Reads two parameters of these names that are numbers; false for anything else.
bool numbers_are(PyObject* kwnames, PyObject* const* values, double* numbers, const char* first, const char* second) {
    return kwnames && PyTuple_GET_SIZE(kwnames) == 2 && named(kwnames, 0, first) && named(kwnames, 1, second) &&
           number(values[0], numbers[0]) && number(values[1], numbers[1]);
}

} // namespace

PyObject* small_call(Small small, PyObject* const* arrays, Py_ssize_t n, PyObject* kwnames) {
    PyObject* first = PyArray_CheckExact(arrays[0]) ? arrays[0] : n > 1 ? arrays[1] : nullptr;
    if (!first || !PyArray_CheckExact(first)) return nullptr;
    PyArrayObject* array = as_array(first);
    int type = PyArray_TYPE(array);
    npy_intp size = PyArray_SIZE(array);
    if (size > SMALL) return nullptr;
    if (type == NPY_INT64) return kwnames || n != 2 || !pairs_whole(small) ? nullptr : small_pair<npy_int64>(small, type, arrays[0], arrays[1]);
    if (type != NPY_FLOAT && type != NPY_DOUBLE) return nullptr;
    if (small >= Small::sum && small <= Small::matmul)
        return type == NPY_FLOAT ? small_rows<float>(small, arrays, n, kwnames) : small_rows<double>(small, arrays, n, kwnames);
    if (pairs(small))
        return kwnames || n != 2 ? nullptr
               : type == NPY_FLOAT ? small_pair<float>(small, type, arrays[0], arrays[1])
                                   : small_pair<double>(small, type, arrays[0], arrays[1]);
    if (n != 1 || small < Small::neg || small > Small::softplus || !simple(first)) return nullptr;
    double numbers[2] = {};
    if (small == Small::softplus ? !numbers_are(kwnames, arrays + 1, numbers, "beta", "threshold") : kwnames != nullptr) return nullptr;
    PyObject* out = PyArray_SimpleNew(PyArray_NDIM(array), PyArray_DIMS(array), type);
    if (!out) return nullptr;
    type == NPY_FLOAT ? small_unary(small, data<float>(first), numbers, data<float>(out), size)
                      : small_unary(small, data<double>(first), numbers, data<double>(out), size);
    return out;
}

} // namespace workbench::eager
