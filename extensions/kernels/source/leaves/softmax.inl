// Softmax and its gradient, of floats. Included once per instruction set; see dispatch.hpp.
#include "functions.inl"

// Of floats below, of doubles in the file that is included.
template <typename T>
static void softmax_rows(const T* x, std::int64_t rows, std::int64_t columns, bool logarithm, T* y);
template <typename T>
static void softmax_gradient_rows(const T* g, const T* y, std::int64_t rows, std::int64_t columns, bool logarithm, T* gx);
template <typename T>
static void softmax_columns(const T* x, std::int64_t rows, std::int64_t columns, std::int64_t step, bool logarithm, T* y);
template <typename T>
static void softmax_gradient_columns(const T* g, const T* y, std::int64_t rows, std::int64_t columns, std::int64_t step, bool logarithm, T* gx);
#include "softmax_doubles.inl"

// The largest value of a row; NaN if there is one.
static WORKBENCH_INLINE float row_largest(const float* x, std::int64_t columns) {
    float largest = x[0];
    std::int64_t i = 0;
    if (columns >= lanes) {
        floats best = load_floats(x), other = best, third = best, fourth = best;
        // NaN in the second place wins; what is NaN already must win, too.
        ints nan = best != best;
        for (; i + 4 * lanes <= columns; i += 4 * lanes) {
            const floats a = load_floats(x + i), b = load_floats(x + i + lanes), c = load_floats(x + i + 2 * lanes),
                         d = load_floats(x + i + 3 * lanes);
            best = larger(best, a), other = larger(other, b), third = larger(third, c), fourth = larger(fourth, d);
            nan |= (a + b) + (c + d) != (a + b) + (c + d);  // or infinities of both signs: then it is looked at again
        }
        for (; i + lanes <= columns; i += lanes) {
            const floats a = load_floats(x + i);
            best = larger(best, a);
            nan |= a != a;
        }
        best = larger(larger(best, other), larger(third, fourth));
        largest = best[0];
        bool suspect = false;
        for (int lane = 0; lane < lanes; ++lane) {
            largest = best[lane] > largest ? best[lane] : largest;
            suspect |= nan[lane] != 0;
        }
        if (suspect)
            for (std::int64_t k = 0; k < i; ++k)
                if (x[k] != x[k]) return x[k];
    }
    for (; i < columns; ++i) largest = x[i] > largest || x[i] != x[i] ? x[i] : largest;
    return largest;
}

// Writes e^(x - largest) to y unless y is null, and returns the sum.
static WORKBENCH_INLINE float row_exponentials(const float* x, std::int64_t columns, float largest, float* y) {
    floats part = all(0.f), other = all(0.f);
    std::int64_t i = 0;
    for (; i + 2 * lanes <= columns; i += 2 * lanes) {
        const floats value = exponential(load_floats(x + i) - largest);
        const floats next = exponential(load_floats(x + i + lanes) - largest);
        if (y) store_floats(y + i, value), store_floats(y + i + lanes, next);
        part += value, other += next;
    }
    for (; i < columns; i += lanes) {
        const std::int64_t rest = columns - i < lanes ? columns - i : lanes;
        const floats value = exponential(load_some(x + i, rest) - largest);
        if (y) store_some(y + i, value, rest);
        if (rest == lanes)
            part += value;
        else
            for (std::int64_t k = 0; k < rest; ++k) other[k] += value[k];
    }
    return lanes_sum(part + other);
}

// y = softmax(x) or its logarithm over each row.
template <>
void softmax_rows(const float* x, std::int64_t rows, std::int64_t columns, bool logarithm, float* y) {
    for (std::int64_t row = 0; row < rows; ++row, x += columns, y += columns) {
        const float largest = row_largest(x, columns);
        if (logarithm) {
            const float sum = row_exponentials(x, columns, largest, nullptr);
            const float shift = __builtin_logf(sum);
            for (std::int64_t i = 0; i < columns; ++i) y[i] = (x[i] - largest) - shift;
        } else {
            const float scale = 1.f / row_exponentials(x, columns, largest, y);
            for (std::int64_t i = 0; i < columns; ++i) y[i] *= scale;
        }
    }
}

// The gradient of softmax, y (g - sum(g y)), or of its logarithm, g - e^y sum(g), over each row.
template <>
void softmax_gradient_rows(const float* g, const float* y, std::int64_t rows, std::int64_t columns, bool logarithm,
                                  float* gx) {
    for (std::int64_t row = 0; row < rows; ++row, g += columns, y += columns, gx += columns) {
        floats part = all(0.f), other = all(0.f);
        float sum = 0;
        std::int64_t i = 0;
        if (logarithm) {
            for (; i + 2 * lanes <= columns; i += 2 * lanes) part += load_floats(g + i), other += load_floats(g + i + lanes);
            for (; i < columns; ++i) sum += g[i];
        } else {
            for (; i + 2 * lanes <= columns; i += 2 * lanes) {
                part += load_floats(g + i) * load_floats(y + i);
                other += load_floats(g + i + lanes) * load_floats(y + i + lanes);
            }
            for (; i < columns; ++i) sum += g[i] * y[i];
        }
        sum += lanes_sum(part + other);
        const auto slope = [&](floats gradient, floats value) {
            return logarithm ? gradient - exponential(value) * sum : value * (gradient - sum);
        };
        along(
            columns, [&](std::int64_t k) { store_floats(gx + k, slope(load_floats(g + k), load_floats(y + k))); },
            [&](std::int64_t k, std::int64_t rest) {
                store_some(gx + k, slope(load_some(g + k, rest), load_some(y + k, rest)), rest);
            });
    }
}

// The same over `rows` for each of `columns` <= 1024 columns, which lie side by side; rows are `step` apart.
template <>
void softmax_columns(const float* x, std::int64_t rows, std::int64_t columns, std::int64_t step, bool logarithm,
                            float* y) {
    alignas(64) float largest[1024], sum[1024];
    for (std::int64_t c = 0; c < columns; ++c) largest[c] = x[c], sum[c] = 0;
    for (std::int64_t row = 1; row < rows; ++row) {
        const float* from = x + row * step;
        for (std::int64_t c = 0; c < columns; ++c) {
            const float value = from[c];
            largest[c] = value > largest[c] || value != value ? value : largest[c];
        }
    }
    for (std::int64_t row = 0; row < rows; ++row) {
        const float* from = x + row * step;
        float* to = y + row * step;
        std::int64_t c = 0;
        for (; c + lanes <= columns; c += lanes) {
            const floats value = exponential(load_floats(from + c) - load_floats(largest + c));
            if (!logarithm) store_floats(to + c, value);
            store_floats(sum + c, load_floats(sum + c) + value);
        }
        if (c < columns) {
            const std::int64_t rest = columns - c;
            const floats value = exponential(load_some(from + c, rest) - load_some(largest + c, rest));
            if (!logarithm) store_some(to + c, value, rest);
            store_some(sum + c, load_some(sum + c, rest) + value, rest);
        }
    }
    for (std::int64_t c = 0; c < columns; ++c) sum[c] = logarithm ? __builtin_logf(sum[c]) : 1.f / sum[c];
    for (std::int64_t row = 0; row < rows; ++row) {
        const float* from = x + row * step;
        float* to = y + row * step;
        if (logarithm)
            for (std::int64_t c = 0; c < columns; ++c) to[c] = (from[c] - largest[c]) - sum[c];
        else
            for (std::int64_t c = 0; c < columns; ++c) to[c] *= sum[c];
    }
}

template <>
void softmax_gradient_columns(const float* g, const float* y, std::int64_t rows, std::int64_t columns,
                                     std::int64_t step, bool logarithm, float* gx) {
    alignas(64) float sum[1024];
    for (std::int64_t c = 0; c < columns; ++c) sum[c] = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
        const float *gradient = g + row * step, *value = y + row * step;
        if (logarithm)
            for (std::int64_t c = 0; c < columns; ++c) sum[c] += gradient[c];
        else
            for (std::int64_t c = 0; c < columns; ++c) sum[c] += gradient[c] * value[c];
    }
    for (std::int64_t row = 0; row < rows; ++row) {
        const float *gradient = g + row * step, *value = y + row * step;
        float* to = gx + row * step;
        const auto slope = [&](floats one, floats two, floats total) {
            return logarithm ? one - exponential(two) * total : two * (one - total);
        };
        along(
            columns,
            [&](std::int64_t c) {
                store_floats(to + c, slope(load_floats(gradient + c), load_floats(value + c), load_floats(sum + c)));
            },
            [&](std::int64_t c, std::int64_t rest) {
                store_some(to + c, slope(load_some(gradient + c, rest), load_some(value + c, rest), load_some(sum + c, rest)), rest);
            });
    }
}

// What is left of a row when `largest` is taken from each value, summed: a few thousand floats at a time.
static WORKBENCH_INLINE double row_rest(const float* x, std::int64_t columns, float largest) {
    constexpr std::int64_t most = 128 * lanes;
    double total = 0;
    for (std::int64_t begin = 0; begin < columns; begin += most) {
        const std::int64_t end = columns - begin < most ? columns : begin + most;
        floats part = all(0.f), other = all(0.f);
        std::int64_t i = begin;
        for (; i + 2 * lanes <= end; i += 2 * lanes) part += load_floats(x + i) - largest, other += load_floats(x + i + lanes) - largest;
        for (; i + lanes <= end; i += lanes) part += load_floats(x + i) - largest;
        if (i < end) other += keep_some(load_some(x + i, end - i) - largest, end - i);
        total += static_cast<double>(lanes_sum(part + other));
    }
    return total;
}

// Losses of rows of scores, ln(sum(e^x)) - x[target], of which a share is that against all classes alike; 0 where a target
// is to be ignored.
static void cross_entropy_rows(const float* x, std::int64_t rows, std::int64_t columns, const std::int64_t* targets,
                               std::int64_t ignored, float smoothing, float* losses) {
    for (std::int64_t row = 0; row < rows; ++row, x += columns) {
        if (targets[row] == ignored) {
            losses[row] = 0.f;
            continue;
        }
        const float largest = row_largest(x, columns);
        const float logarithm = __builtin_logf(row_exponentials(x, columns, largest, nullptr));
        losses[row] = logarithm - (x[targets[row]] - largest);
        // Without a share nothing but the target counts, infinite as the others may be.
        if (smoothing != 0.f) {
            const float rest = static_cast<float>(row_rest(x, columns, largest) / static_cast<double>(columns));
            losses[row] = (1.f - smoothing) * losses[row] + smoothing * (logarithm - rest);
        }
    }
}

// Their gradients, factor (softmax(x) - share / classes - (1 - share) [c = target]); factors are `step` apart.
static void cross_entropy_gradient_rows(const float* x, std::int64_t rows, std::int64_t columns, const std::int64_t* targets,
                                        std::int64_t ignored, float smoothing, const float* factors, std::int64_t step, float share,
                                        float* gx) {
    for (std::int64_t row = 0; row < rows; ++row, x += columns, gx += columns) {
        if (targets[row] == ignored) {
            for (std::int64_t i = 0; i < columns; ++i) gx[i] = 0.f;
            continue;
        }
        const float factor = factors[row * step] * share, largest = row_largest(x, columns);
        const float scale = factor / row_exponentials(x, columns, largest, gx);
        const float everywhere = factor * smoothing / static_cast<float>(columns);
        for (std::int64_t i = 0; i < columns; ++i) gx[i] = gx[i] * scale - everywhere;
        gx[targets[row]] -= factor * (1.f - smoothing);
    }
}

// The largest of each of `columns` <= 1024 columns, NaN if there is one.
static WORKBENCH_INLINE void columns_largest(const float* x, std::int64_t rows, std::int64_t columns, std::int64_t step, float* largest) {
    for (std::int64_t c = 0; c < columns; ++c) largest[c] = x[c];
    for (std::int64_t row = 1; row < rows; ++row) {
        const float* from = x + row * step;
        for (std::int64_t c = 0; c < columns; ++c) {
            const float value = from[c];
            largest[c] = value > largest[c] || value != value ? value : largest[c];
        }
    }
}

// The same losses over `rows` classes for each of `columns` <= 1024 places, which lie side by side; classes are `step` apart.
static void cross_entropy_columns(const float* x, std::int64_t rows, std::int64_t columns, std::int64_t step, const std::int64_t* targets,
                                  std::int64_t ignored, float smoothing, float* losses) {
    alignas(64) float largest[1024], sum[1024], rest[1024];
    columns_largest(x, rows, columns, step, largest);
    for (std::int64_t c = 0; c < columns; ++c) sum[c] = 0, rest[c] = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
        const float* from = x + row * step;
        along(
            columns,
            [&](std::int64_t c) {
                const floats away = load_floats(from + c) - load_floats(largest + c);
                store_floats(sum + c, load_floats(sum + c) + exponential(away));
                store_floats(rest + c, load_floats(rest + c) + away);
            },
            [&](std::int64_t c, std::int64_t count) {
                const floats away = load_some(from + c, count) - load_some(largest + c, count);
                store_some(sum + c, load_some(sum + c, count) + exponential(away), count);
                store_some(rest + c, load_some(rest + c, count) + away, count);
            });
    }
    for (std::int64_t c = 0; c < columns; ++c) {
        if (targets[c] == ignored) {
            losses[c] = 0.f;
            continue;
        }
        const float logarithm = __builtin_logf(sum[c]);
        losses[c] = logarithm - (x[targets[c] * step + c] - largest[c]);
        if (smoothing != 0.f)
            losses[c] = (1.f - smoothing) * losses[c] + smoothing * (logarithm - rest[c] / static_cast<float>(rows));
    }
}

static void cross_entropy_gradient_columns(const float* x, std::int64_t rows, std::int64_t columns, std::int64_t step,
                                           const std::int64_t* targets, std::int64_t ignored, float smoothing, const float* factors,
                                           std::int64_t factor_step, float share, float* gx) {
    alignas(64) float largest[1024], scale[1024], everywhere[1024];
    columns_largest(x, rows, columns, step, largest);
    for (std::int64_t c = 0; c < columns; ++c) scale[c] = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
        const float* from = x + row * step;
        float* to = gx + row * step;
        along(
            columns,
            [&](std::int64_t c) {
                const floats value = exponential(load_floats(from + c) - load_floats(largest + c));
                store_floats(to + c, value);
                store_floats(scale + c, load_floats(scale + c) + value);
            },
            [&](std::int64_t c, std::int64_t count) {
                const floats value = exponential(load_some(from + c, count) - load_some(largest + c, count));
                store_some(to + c, value, count);
                store_some(scale + c, load_some(scale + c, count) + value, count);
            });
    }
    bool any = false;
    for (std::int64_t c = 0; c < columns; ++c) {
        const float factor = factors[c * factor_step] * share;
        any |= targets[c] == ignored;
        scale[c] = factor / scale[c], everywhere[c] = factor * smoothing / static_cast<float>(rows);
    }
    for (std::int64_t row = 0; row < rows; ++row) {
        float* to = gx + row * step;
        for (std::int64_t c = 0; c < columns; ++c) to[c] = to[c] * scale[c] - everywhere[c];
        if (any)  // not a product: what is ignored may be infinite
            for (std::int64_t c = 0; c < columns; ++c) to[c] = targets[c] == ignored ? 0.f : to[c];
    }
    for (std::int64_t c = 0; c < columns; ++c)
        if (targets[c] != ignored) gx[targets[c] * step + c] -= factors[c * factor_step] * share * (1.f - smoothing);
}
