// Softmax of doubles and its gradient, by the names of those of floats. Included once per instruction set; see dispatch.hpp.
#include "double_functions.inl"

// The largest value of a row; NaN if there is one.
static WORKBENCH_INLINE double row_largest(const double* x, std::int64_t columns) {
    double largest = x[0];
    std::int64_t i = 0;
    if (columns >= double_lanes) {
        doubles best = doubles_at(x, double_lanes);
        longs nan = best != best;
        for (i = double_lanes; i + double_lanes <= columns; i += double_lanes) {
            const doubles value = doubles_at(x + i, double_lanes);
            best = value > best ? value : best;
            nan |= value != value;
        }
        largest = best[0];
        for (int lane = 0; lane < double_lanes; ++lane) {
            if (nan[lane]) return __builtin_nan("");
            largest = best[lane] > largest ? best[lane] : largest;
        }
    }
    for (; i < columns; ++i) largest = x[i] > largest || x[i] != x[i] ? x[i] : largest;
    return largest;
}

template <>
void softmax_rows(const double* x, std::int64_t rows, std::int64_t columns, bool logarithm, double* y) {
    for (std::int64_t row = 0; row < rows; ++row, x += columns, y += columns) {
        const double largest = row_largest(x, columns);
        const auto power = [&](std::int64_t i, std::int64_t n) { return falling_exponential(doubles_at(x + i, n) - largest); };
        if (logarithm) {
            const double shift = __builtin_log(doubles_sum(columns, power));
            for (std::int64_t i = 0; i < columns; ++i) y[i] = (x[i] - largest) - shift;
        } else {
            const double sum = doubles_sum(columns, [&](std::int64_t i, std::int64_t n) {
                const doubles value = power(i, n);
                put_doubles(y + i, value, n);
                return value;
            });
            for (std::int64_t i = 0; i < columns; ++i) y[i] /= sum;
        }
    }
}

template <>
void softmax_gradient_rows(const double* g, const double* y, std::int64_t rows, std::int64_t columns, bool logarithm,
                                  double* gx) {
    for (std::int64_t row = 0; row < rows; ++row, g += columns, y += columns, gx += columns) {
        const double sum = doubles_sum(columns, [&](std::int64_t i, std::int64_t n) {
            const doubles gradient = doubles_at(g + i, n);
            return logarithm ? gradient : gradient * doubles_at(y + i, n);
        });
        each_double(columns, [&](std::int64_t i, std::int64_t n) {
            const doubles gradient = doubles_at(g + i, n), value = doubles_at(y + i, n);
            put_doubles(gx + i, logarithm ? gradient - exponential(value) * sum : value * (gradient - sum), n);
        });
    }
}

// The same over `rows` for each of `columns` <= 1024 columns, which lie side by side; rows are `step` apart.
template <>
void softmax_columns(const double* x, std::int64_t rows, std::int64_t columns, std::int64_t step, bool logarithm,
                            double* y) {
    alignas(64) double largest[1024], sum[1024];
    for (std::int64_t c = 0; c < columns; ++c) largest[c] = x[c], sum[c] = 0;
    for (std::int64_t row = 1; row < rows; ++row) {
        const double* from = x + row * step;
        for (std::int64_t c = 0; c < columns; ++c) {
            const double value = from[c];
            largest[c] = value > largest[c] || value != value ? value : largest[c];
        }
    }
    for (std::int64_t row = 0; row < rows; ++row) {
        const double* from = x + row * step;
        double* to = y + row * step;
        each_double(columns, [&](std::int64_t c, std::int64_t n) {
            const doubles value = falling_exponential(doubles_at(from + c, n) - doubles_at(largest + c, n));
            if (!logarithm) put_doubles(to + c, value, n);
            put_doubles(sum + c, doubles_at(sum + c, n) + value, n);
        });
    }
    if (logarithm)
        for (std::int64_t c = 0; c < columns; ++c) sum[c] = __builtin_log(sum[c]);
    for (std::int64_t row = 0; row < rows; ++row) {
        const double* from = x + row * step;
        double* to = y + row * step;
        if (logarithm)
            for (std::int64_t c = 0; c < columns; ++c) to[c] = (from[c] - largest[c]) - sum[c];
        else
            for (std::int64_t c = 0; c < columns; ++c) to[c] /= sum[c];
    }
}

template <>
void softmax_gradient_columns(const double* g, const double* y, std::int64_t rows, std::int64_t columns,
                                     std::int64_t step, bool logarithm, double* gx) {
    alignas(64) double sum[1024];
    for (std::int64_t c = 0; c < columns; ++c) sum[c] = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
        const double *gradient = g + row * step, *value = y + row * step;
        if (logarithm)
            for (std::int64_t c = 0; c < columns; ++c) sum[c] += gradient[c];
        else
            for (std::int64_t c = 0; c < columns; ++c) sum[c] += gradient[c] * value[c];
    }
    for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t at = row * step;
        each_double(columns, [&](std::int64_t c, std::int64_t n) {
            const doubles gradient = doubles_at(g + at + c, n), value = doubles_at(y + at + c, n), total = doubles_at(sum + c, n);
            put_doubles(gx + at + c, logarithm ? gradient - exponential(value) * total : value * (gradient - total), n);
        });
    }
}
