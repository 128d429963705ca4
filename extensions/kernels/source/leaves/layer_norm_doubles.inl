// Normalisation of rows of doubles, by the names of that of floats. Included once per instruction set; see dispatch.hpp.
#include "double_functions.inl"

template <>
void layer_norm_rows(const double* x, std::int64_t rows, std::int64_t columns, const double* weight, const double* bias,
                            double eps, double* y, double* means, double* rstds) {
    const double count = static_cast<double>(columns);
    for (std::int64_t row = 0; row < rows; ++row, x += columns, y += columns) {
        const double mean =
            means ? doubles_sum(columns, [&](std::int64_t i, std::int64_t n) { return doubles_at(x + i, n); }) / count : 0.0;
        const double squares = doubles_sum(columns, [&](std::int64_t i, std::int64_t n) {
            const doubles distance = doubles_at(x + i, n) - mean;
            return distance * distance;
        });
        const double rstd = 1.0 / __builtin_sqrt(squares / count + eps);
        if (means) means[row] = mean;
        rstds[row] = rstd;
        each_double(columns, [&](std::int64_t i, std::int64_t n) {
            doubles value = (doubles_at(x + i, n) - mean) * rstd;
            if (weight) value = value * doubles_at(weight + i, n);
            if (bias) value = value + doubles_at(bias + i, n);
            put_doubles(y + i, value, n);
        });
    }
}

template <>
void layer_norm_gradient_rows(const double* g, const double* x, std::int64_t rows, std::int64_t columns,
                                     const double* means, const double* rstds, const double* weight, double* gx, double* gw,
                                     double* gb) {
    const double count = static_cast<double>(columns);
    for (std::int64_t row = 0; row < rows; ++row, x += columns, g += columns, gx += columns) {
        const double mean = means ? means[row] : 0.0, rstd = rstds[row];
        const auto outer = [&](std::int64_t i, std::int64_t n) {
            const doubles gradient = doubles_at(g + i, n);
            return weight ? gradient * doubles_at(weight + i, n) : gradient;
        };
        const auto normal = [&](std::int64_t i, std::int64_t n) { return (doubles_at(x + i, n) - mean) * rstd; };
        const double first = means ? doubles_sum(columns, outer) / count : 0.0;
        const double second =
            doubles_sum(columns, [&](std::int64_t i, std::int64_t n) { return outer(i, n) * normal(i, n); }) / count;
        each_double(columns, [&](std::int64_t i, std::int64_t n) {
            const doubles gradient = doubles_at(g + i, n), value = normal(i, n);
            put_doubles(gx + i, (outer(i, n) - first - value * second) * rstd, n);
            put_doubles(gw + i, doubles_at(gw + i, n) + gradient * value, n);
            if (means) put_doubles(gb + i, doubles_at(gb + i, n) + gradient, n);
        });
    }
}
