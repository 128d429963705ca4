// Products of small matrices, which lie row by row. Included once per instruction set; see dispatch.hpp.
#include "double_functions.inl"

// Of whole vectors of columns, and of the columns that are left one by one.
template <typename V, typename T>
static WORKBENCH_INLINE void product_of(const T* a, const T* b, std::int64_t m, std::int64_t k, std::int64_t n, T* out) {
    constexpr std::int64_t width = sizeof(V) / sizeof(T);
    for (std::int64_t row = 0; row < m; ++row, a += k, out += n) {
        std::int64_t column = 0;
        for (; column + width <= n; column += width) {
            V sum = {};
            for (std::int64_t i = 0; i < k; ++i) {
                V values;
                __builtin_memcpy(&values, b + i * n + column, sizeof values);
                sum += a[i] * values;
            }
            __builtin_memcpy(out + column, &sum, sizeof sum);
        }
        for (; column < n; ++column) {
            T sum = 0;
            for (std::int64_t i = 0; i < k; ++i) sum += a[i] * b[i * n + column];
            out[column] = sum;
        }
    }
}

// Rows of `a` with rows of `b`, and `c` added where it is given.
template <typename V, typename T>
static WORKBENCH_INLINE void linear_of(const T* a, const T* b, const T* c, std::int64_t m, std::int64_t k, std::int64_t n, T* out) {
    constexpr std::int64_t width = sizeof(V) / sizeof(T);
    T turned[1024];  // as many values as callers may have
    if (m >= 4) {  // worth laying `b` out in columns
        for (std::int64_t column = 0; column < n; ++column)
            for (std::int64_t i = 0; i < k; ++i) turned[i * n + column] = b[column * k + i];
        product_of<V>(a, turned, m, k, n, out);
    } else {
        for (std::int64_t row = 0; row < m; ++row)
            for (std::int64_t column = 0; column < n; ++column) {
                const T *x = a + row * k, *y = b + column * k;
                V part = {};
                std::int64_t i = 0;
                for (; i + width <= k; i += width) {
                    V left, right;
                    __builtin_memcpy(&left, x + i, sizeof left), __builtin_memcpy(&right, y + i, sizeof right);
                    part += left * right;
                }
                T sum = 0;
                for (; i < k; ++i) sum += x[i] * y[i];
                for (std::int64_t lane = 0; lane < width; ++lane) sum += part[lane];
                out[row * n + column] = sum;
            }
    }
    if (c)
        for (std::int64_t row = 0; row < m; ++row)
            for (std::int64_t column = 0; column < n; ++column) out[row * n + column] += c[column];
}

static void linear_of_floats(const float* a, const float* b, const float* c, std::int64_t m, std::int64_t k, std::int64_t n, float* out) {
    linear_of<floats8>(a, b, c, m, k, n, out);
}
static void linear_of_doubles(const double* a, const double* b, const double* c, std::int64_t m, std::int64_t k, std::int64_t n, double* out) {
    linear_of<doubles>(a, b, c, m, k, n, out);
}
static void product_of_floats(const float* a, const float* b, std::int64_t m, std::int64_t k, std::int64_t n, float* out) {
    product_of<floats8>(a, b, m, k, n, out);
}
static void product_of_doubles(const double* a, const double* b, std::int64_t m, std::int64_t k, std::int64_t n, double* out) {
    product_of<doubles>(a, b, m, k, n, out);
}
