// Loops over dense floats. Included once per instruction set; see dispatch.hpp.

#define WORKBENCH_BINARY(kind, expression)                                   \
    case Binary::kind:                                                       \
        if (b_step)                                                          \
            for (std::int64_t i = 0; i < count; ++i) {                       \
                const float x = a[i], y = b[i];                              \
                out[i] = expression;                                         \
            }                                                                \
        else {                                                               \
            const float y = b[0];                                            \
            for (std::int64_t i = 0; i < count; ++i) {                       \
                const float x = a[i];                                        \
                out[i] = expression;                                         \
            }                                                                \
        }                                                                    \
        break;

// out = a (op) b, where b is one value (b_step 0) or as long as a (b_step 1). NaN wins in maximum and minimum.
static void binary_run(Binary kind, const float* a, const float* b, std::int64_t b_step, std::int64_t count, float* out) {
    switch (kind) {
        WORKBENCH_BINARY(add, x + y)
        WORKBENCH_BINARY(sub, x - y)
        WORKBENCH_BINARY(mul, x * y)
        WORKBENCH_BINARY(div, x / y)
        WORKBENCH_BINARY(reversed_sub, y - x)
        WORKBENCH_BINARY(reversed_div, y / x)
        WORKBENCH_BINARY(maximum, (x > y || x != x) ? x : y)
        WORKBENCH_BINARY(minimum, (x < y || x != x) ? x : y)
        WORKBENCH_BINARY(relu_gradient, y > 0.f ? x : 0.f)
    }
}
#undef WORKBENCH_BINARY

// e^x to 2 units in the last place: 2^n e^r with |r| <= ln2 / 2, where n ln2 is taken off in two parts and e^r is its
// series to the seventh power. The two factors of 2^n keep results near the ends of the range exact.
static WORKBENCH_INLINE floats8 exponential(floats8 x) {
    const floats8 bounded = x > 89.f ? spread(89.f) : (x < -104.f ? spread(-104.f) : x);
    const floats8 shifter = spread(12582912.f);  // 1.5 * 2^23: adding it rounds to the nearest integer
    const floats8 n = (bounded * 1.44269504f + shifter) - shifter;
    const floats8 r = (bounded - n * 0.693359375f) - n * -2.12194440e-4f;
    floats8 series = spread(1.f / 5040.f);
    series = series * r + 1.f / 720.f;
    series = series * r + 1.f / 120.f;
    series = series * r + 1.f / 24.f;
    series = series * r + 1.f / 6.f;
    series = series * r + 0.5f;
    series = series * r + 1.f;
    series = series * r + 1.f;
    const ints8 power = __builtin_convertvector(n, ints8), half = power >> 1;
    const floats8 first = (floats8)((half + 127) << 23), second = (floats8)((power - half + 127) << 23);
    return x != x ? x : series * first * second;
}

// tanh: x + x^3 q(x^2) below 0.6 in magnitude, where 1 - 2/(e^2x + 1) would cancel; q is a fit at Chebyshev points.
static WORKBENCH_INLINE floats8 hyperbolic_tangent(floats8 x) {
    const floats8 square = x * x;
    floats8 series = spread(2.37348466e-3f);
    series = series * square - 8.41252320e-3f;
    series = series * square + 2.17890963e-2f;
    series = series * square - 5.39616533e-2f;
    series = series * square + 1.33333132e-1f;
    series = series * square - 3.33333343e-1f;
    const floats8 large = 1.f - 2.f / (exponential(x + x) + 1.f);
    return (x < 0.6f) & (x > -0.6f) ? x + x * square * series : large;
}

static WORKBENCH_INLINE floats8 transcendental(Unary kind, floats8 x) {
    if (kind == Unary::exp) return exponential(x);
    if (kind == Unary::tanh) return hyperbolic_tangent(x);
    return 1.f / (1.f + exponential(-x));
}

static WORKBENCH_INLINE void transcendental_run(Unary kind, const float* x, std::int64_t count, float* out) {
    std::int64_t i = 0;
    for (; i + 8 <= count; i += 8) store(out + i, transcendental(kind, load(x + i)));
    if (i < count) {
        floats8 rest = spread(0.f);
        for (std::int64_t k = i; k < count; ++k) rest[k - i] = x[k];
        rest = transcendental(kind, rest);
        for (std::int64_t k = i; k < count; ++k) out[k] = rest[k - i];
    }
}

static void unary_run(Unary kind, const float* x, std::int64_t count, float* out) {
    switch (kind) {
        case Unary::relu:
            for (std::int64_t i = 0; i < count; ++i) out[i] = x[i] < 0.f ? 0.f : x[i];
            break;
        case Unary::neg:
            for (std::int64_t i = 0; i < count; ++i) out[i] = -x[i];
            break;
        case Unary::abs:
            for (std::int64_t i = 0; i < count; ++i) out[i] = __builtin_fabsf(x[i]);
            break;
        case Unary::sqrt:
            for (std::int64_t i = 0; i < count; ++i) out[i] = __builtin_sqrtf(x[i]);
            break;
        case Unary::exp: transcendental_run(Unary::exp, x, count, out); break;
        case Unary::tanh: transcendental_run(Unary::tanh, x, count, out); break;
        case Unary::sigmoid: transcendental_run(Unary::sigmoid, x, count, out); break;
    }
}

static WORKBENCH_INLINE float lanes_sum(floats8 v) {
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

// The largest value of a row; NaN if there is one.
static WORKBENCH_INLINE float row_largest(const float* x, std::int64_t columns) {
    floats8 best = spread(x[0]);
    std::int64_t i = 0;
    for (; i + 8 <= columns; i += 8) {
        const floats8 value = load(x + i);
        best = (value > best) | (value != value) ? value : best;
    }
    float largest = x[0];
    for (int lane = 0; lane < 8; ++lane) largest = best[lane] > largest || best[lane] != best[lane] ? best[lane] : largest;
    for (; i < columns; ++i) largest = x[i] > largest || x[i] != x[i] ? x[i] : largest;
    return largest;
}

// Writes e^(x - largest) to y unless y is null, and returns the sum.
static WORKBENCH_INLINE float row_exponentials(const float* x, std::int64_t columns, float largest, float* y) {
    floats8 part = spread(0.f);
    std::int64_t i = 0;
    for (; i + 8 <= columns; i += 8) {
        const floats8 value = exponential(load(x + i) - largest);
        if (y) store(y + i, value);
        part += value;
    }
    float sum = lanes_sum(part);
    for (; i < columns; ++i) {
        const float value = exponential(spread(x[i] - largest))[0];
        if (y) y[i] = value;
        sum += value;
    }
    return sum;
}

// y = softmax(x) or its logarithm over each row.
static void softmax_rows(const float* x, std::int64_t rows, std::int64_t columns, bool logarithm, float* y) {
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
static void softmax_gradient_rows(const float* g, const float* y, std::int64_t rows, std::int64_t columns, bool logarithm,
                                  float* gx) {
    for (std::int64_t row = 0; row < rows; ++row, g += columns, y += columns, gx += columns) {
        floats8 part = spread(0.f);
        float sum = 0;
        std::int64_t i = 0;
        if (logarithm) {
            for (; i + 8 <= columns; i += 8) part += load(g + i);
            for (; i < columns; ++i) sum += g[i];
        } else {
            for (; i + 8 <= columns; i += 8) part += load(g + i) * load(y + i);
            for (; i < columns; ++i) sum += g[i] * y[i];
        }
        sum += lanes_sum(part);
        if (logarithm) {
            transcendental_run(Unary::exp, y, columns, gx);
            for (std::int64_t k = 0; k < columns; ++k) gx[k] = g[k] - gx[k] * sum;
        } else {
            for (std::int64_t k = 0; k < columns; ++k) gx[k] = y[k] * (g[k] - sum);
        }
    }
}

// The first `count` elements of out, which is cut into blocks as long as b: out = a (op) b, with b the same for each.
static void binary_blocks(Binary kind, const float* a, const float* b, std::int64_t block, std::int64_t count, float* out) {
    for (std::int64_t i = 0; i < count; i += block)
        binary_run(kind, a + i, b, 1, count - i < block ? count - i : block, out + i);
}

// total += the sum of `rows` rows of `columns`, which lie `step` apart.
static void sum_rows(const float* x, std::int64_t rows, std::int64_t columns, std::int64_t step, double* total) {
    constexpr std::int64_t wide = 256, high = 64;  // sums of 64 floats lose little; doubles take them from there
    for (std::int64_t first = 0; first < columns; first += wide) {
        const std::int64_t width = columns - first < wide ? columns - first : wide;
        for (std::int64_t top = 0; top < rows; top += high) {
            const std::int64_t bottom = rows - top < high ? rows : top + high;
            float part[wide] = {};
            for (std::int64_t row = top; row < bottom; ++row)
                for (std::int64_t c = 0; c < width; ++c) part[c] += x[row * step + first + c];
            for (std::int64_t c = 0; c < width; ++c) total[first + c] += static_cast<double>(part[c]);
        }
    }
}

// The sum of a run of floats.
static double sum_run(const float* x, std::int64_t count) {
    double total = 0;
    std::int64_t i = 0;
    while (i + 8 <= count) {
        const std::int64_t end = count - i > 512 ? i + 512 : i + (count - i) / 8 * 8;
        floats8 part = spread(0.f);
        for (; i < end; i += 8) part += load(x + i);
        for (int lane = 0; lane < 8; ++lane) total += static_cast<double>(part[lane]);
    }
    for (; i < count; ++i) total += static_cast<double>(x[i]);
    return total;
}
