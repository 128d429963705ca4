// Normalisation of rows of floats. Included once per instruction set; see dispatch.hpp.

// Of floats below, of doubles in the file that is included.
template <typename T>
static void layer_norm_rows(const T* x, std::int64_t rows, std::int64_t columns, const T* weight, const T* bias, double eps, T* y, T* means, T* rstds);
template <typename T>
static void layer_norm_gradient_rows(const T* g, const T* x, std::int64_t rows, std::int64_t columns, const T* means, const T* rstds, const T* weight, T* gx, T* gw, T* gb);
#include "layer_norm_doubles.inl"

template <typename Value>
static WORKBENCH_INLINE double total_of(std::int64_t count, Value&& value) {
    double total = 0;
    for (std::int64_t first = 0; first < count; first += 64 * lanes) {  // 32 floats a lane, then doubles
        const std::int64_t many = count - first < 64 * lanes ? count - first : 64 * lanes;
        floats part = all(0.f), other = all(0.f);
        std::int64_t i = 0;
        for (; i + 2 * lanes <= many; i += 2 * lanes) {
            part += value(first + i, std::int64_t{lanes});
            other += value(first + i + lanes, std::int64_t{lanes});
        }
        for (; i < many; i += lanes) {
            const std::int64_t rest = many - i < lanes ? many - i : lanes;
            const floats last = value(first + i, rest);
            other += rest == lanes ? last : keep_some(last, rest);
        }
        total += static_cast<double>(lanes_sum(part + other));
    }
    return total;
}

template <typename T>
static WORKBENCH_INLINE floats load_up_to(const T* p, std::int64_t count) {
    return count == lanes ? load_floats(p) : load_some(p, count);
}

template <bool centred>
static WORKBENCH_INLINE void normalise_rows(const float* x, std::int64_t rows, std::int64_t columns, const float* weight,
                                            const float* bias, double eps, float* y, float* means, float* rstds) {
    for (std::int64_t row = 0; row < rows; ++row, x += columns, y += columns) {
        double mean = 0;
        if constexpr (centred)
            mean = total_of(columns, [&](std::int64_t i, std::int64_t n) { return load_up_to(x + i, n); }) /
                   static_cast<double>(columns);
        const float centre = static_cast<float>(mean);
        const auto away = [&](std::int64_t i, std::int64_t n) {
            const floats value = load_up_to(x + i, n);
            if constexpr (centred) return value - centre;
            return value;
        };
        const double squares = total_of(columns, [&](std::int64_t i, std::int64_t n) {
            const floats distance = away(i, n);
            return distance * distance;
        });
        const double off = mean - static_cast<double>(centre);
        const double variance = squares / static_cast<double>(columns) - off * off;
        const float rstd = static_cast<float>(1.0 / __builtin_sqrt(variance + eps));
        if constexpr (centred) means[row] = centre;
        rstds[row] = rstd;
        const auto scaled = [&](std::int64_t i, std::int64_t n) {
            floats value = away(i, n) * rstd;
            if (weight) value = value * load_up_to(weight + i, n);
            if (bias) value = value + load_up_to(bias + i, n);
            return value;
        };
        along(
            columns, [&](std::int64_t i) { store_floats(y + i, scaled(i, lanes)); },
            [&](std::int64_t i, std::int64_t n) { store_some(y + i, scaled(i, n), n); });
    }
}

// y = (x - mean) rstd weight + bias for each row; weight and bias may be null. Where `means` is null, rows keep theirs.
template <>
void layer_norm_rows(const float* x, std::int64_t rows, std::int64_t columns, const float* weight, const float* bias,
                            double eps, float* y, float* means, float* rstds) {
    if (means)
        normalise_rows<true>(x, rows, columns, weight, bias, eps, y, means, rstds);
    else
        normalise_rows<false>(x, rows, columns, weight, bias, eps, y, nullptr, rstds);
}

template <bool centred>
static WORKBENCH_INLINE void normalise_gradient_rows(const float* g, const float* x, std::int64_t rows, std::int64_t columns,
                                                     const float* means, const float* rstds, const float* weight, float* gx,
                                                     float* gw, float* gb) {
    for (std::int64_t row = 0; row < rows; ++row, x += columns, g += columns, gx += columns) {
        const float centre = centred ? means[row] : 0.f, rstd = rstds[row];
        const auto outer = [&](std::int64_t i, std::int64_t n) {
            const floats gradient = load_up_to(g + i, n);
            return weight ? gradient * load_up_to(weight + i, n) : gradient;
        };
        const auto normal = [&](std::int64_t i, std::int64_t n) {
            const floats value = load_up_to(x + i, n);
            if constexpr (centred) return (value - centre) * rstd;
            return value * rstd;
        };
        double sum = 0, product = 0;
        for (std::int64_t start = 0; start < columns; start += 64 * lanes) {  // 64 floats a lane, then doubles
            const std::int64_t end = columns - start < 64 * lanes ? columns : start + 64 * lanes;
            floats sums = all(0.f), products = all(0.f);
            std::int64_t i = start;
            for (; i + lanes <= end; i += lanes) {
                const floats value = outer(i, lanes);
                sums += value, products += value * normal(i, lanes);
            }
            if (i < end) {
                const std::int64_t rest = end - i;
                const floats value = outer(i, rest);  // zero in the lanes beyond
                sums += value, products += keep_some(value * normal(i, rest), rest);
            }
            sum += static_cast<double>(lanes_sum(sums)), product += static_cast<double>(lanes_sum(products));
        }
        const float first = static_cast<float>(sum / static_cast<double>(columns));
        const float second = static_cast<float>(product / static_cast<double>(columns));
        const auto slope = [&](std::int64_t i, std::int64_t n) {
            if constexpr (centred) return (outer(i, n) - first - normal(i, n) * second) * rstd;
            return (outer(i, n) - normal(i, n) * second) * rstd;
        };
        along(
            columns,
            [&](std::int64_t i) {
                store_floats(gx + i, slope(i, lanes));
                const floats gradient = load_floats(g + i);
                store_floats(gw + i, load_floats(gw + i) + gradient * normal(i, lanes));
                if constexpr (centred) store_floats(gb + i, load_floats(gb + i) + gradient);
            },
            [&](std::int64_t i, std::int64_t n) {
                store_some(gx + i, slope(i, n), n);
                const floats gradient = load_some(g + i, n);
                store_some(gw + i, load_some(gw + i, n) + gradient * normal(i, n), n);
                if constexpr (centred) store_some(gb + i, load_some(gb + i, n) + gradient, n);
            });
    }
}

// gx = rstd (w g - mean(w g) - n mean(w g n)) with n = (x - mean) rstd, and sums of g n and of g over rows. Where `means` is
// null, rows kept theirs: gx = rstd (w g - n mean(w g n)) with n = x rstd, and `gb` is left alone.
template <>
void layer_norm_gradient_rows(const float* g, const float* x, std::int64_t rows, std::int64_t columns,
                                     const float* means, const float* rstds, const float* weight, float* gx, float* gw,
                                     float* gb) {
    if (means)
        normalise_gradient_rows<true>(g, x, rows, columns, means, rstds, weight, gx, gw, gb);
    else
        normalise_gradient_rows<false>(g, x, rows, columns, nullptr, rstds, weight, gx, gw, gb);
}
