// Sums and extremes of runs and of rows, floats or bfloat16 (`T`) computed in floats. Included once per instruction set; see dispatch.hpp.

template <bool largest>
static WORKBENCH_INLINE floats further(floats a, floats b) {  // NaN in a is lost: callers look for it
    return largest ? larger(a, b) : lesser(a, b);
}
template <bool largest>
static WORKBENCH_INLINE float further(float a, float b) {
    return (largest ? b > a : b < a) || b != b ? b : a;
}

// Asks for what lies this far ahead: memory is read at twice the pace at which the CPU follows a run by itself, which
// stops at every page.
template <typename T>
static WORKBENCH_INLINE void ask_ahead(const T* x, std::int64_t count) {
    constexpr std::int64_t line = 64 / sizeof(T), ahead = 4096;
    for (std::int64_t i = 0; i < count; i += line) __builtin_prefetch(x + ahead + i);
}

// The sum of a run of floats: 64 floats are added in each lane, then doubles take over.
template <typename T>
static double run_sum(const T* x, std::int64_t count) {
    double total = 0;
    std::int64_t i = 0;
    constexpr std::int64_t step = 4 * lanes;
    while (i + step <= count) {
        const std::int64_t end = count - i > 32 * step ? i + 32 * step : i + (count - i) / step * step;
        floats a = all(0.f), b = a, c = a, d = a;
        for (; i < end; i += step) {
            ask_ahead(x + i, step);
            a += load_floats(x + i), b += load_floats(x + i + lanes);
            c += load_floats(x + i + 2 * lanes), d += load_floats(x + i + 3 * lanes);
        }
        const floats part = (a + b) + (c + d);
        total += static_cast<double>(lanes_sum(part));
    }
    for (; i < count; ++i) total += static_cast<double>(static_cast<float>(x[i]));
    return total;
}

template <bool largest, typename T>
static WORKBENCH_INLINE double run_extreme(const T* x, std::int64_t count) {
    float best = x[0];
    std::int64_t i = 0;
    constexpr std::int64_t step = 4 * lanes;
    if (count >= lanes) {
        floats a = load_floats(x), b = a, c = a, d = a;
        ints nan = a != a;
        for (; i + step <= count; i += step) {
            const floats e = load_floats(x + i), f = load_floats(x + i + lanes), g = load_floats(x + i + 2 * lanes),
                         h = load_floats(x + i + 3 * lanes);
            a = further<largest>(a, e), b = further<largest>(b, f);
            c = further<largest>(c, g), d = further<largest>(d, h);
            nan |= (e != e) | (f != f) | (g != g) | (h != h);
        }
        for (; i + lanes <= count; i += lanes) {
            const floats e = load_floats(x + i);
            a = further<largest>(a, e);
            nan |= e != e;
        }
        a = further<largest>(further<largest>(a, b), further<largest>(c, d));
        for (int lane = 0; lane < lanes; ++lane) {
            if (nan[lane]) return static_cast<double>(__builtin_nanf(""));
            best = further<largest>(best, a[lane]);
        }
    }
    for (; i < count; ++i) best = further<largest>(best, static_cast<float>(x[i]));
    return static_cast<double>(best);
}

template <typename T>
static double run_reduced(Reduction kind, const T* x, std::int64_t count) {
    switch (kind) {
        case Reduction::amax: return run_extreme<true>(x, count);
        case Reduction::amin: return run_extreme<false>(x, count);
        default: return run_sum(x, count);
    }
}

// A result for each of `rows` runs, which lie `step` apart.
template <typename T>
static void runs_reduced(Reduction kind, const T* x, std::int64_t rows, std::int64_t run, std::int64_t step, double divisor,
                         T* out, std::int64_t out_step) {
    const bool plain = kind == Reduction::sum || kind == Reduction::mean;
    const float share = kind == Reduction::mean ? static_cast<float>(divisor) : 1.f;
    if (plain && run <= 16 * lanes) {
        const std::int64_t whole = run / lanes * lanes;
        [[maybe_unused]] const std::int64_t rest = run - whole;
        for (std::int64_t row = 0; row < rows; ++row, x += step) {
            float sum = 0;
            ask_ahead(x, run);
            if (run >= lanes) {
                floats part = all(0.f);
                for (std::int64_t i = 0; i < whole; i += lanes) part += load_floats(x + i);
#ifdef WORKBENCH_AVX512
                if (rest) part += load_some(x + whole, rest);
                sum = lanes_sum(part);
#else
                sum = lanes_sum(part);
                for (std::int64_t i = whole; i < run; ++i) sum += x[i];
#endif
            } else {
                for (std::int64_t i = 0; i < run; ++i) sum += x[i];
            }
            out[row * out_step] = sum / share;
        }
        return;
    }
    for (std::int64_t row = 0; row < rows; ++row, x += step) {
        const double total = run_reduced(kind, x, run);
        out[row * out_step] = static_cast<float>(kind == Reduction::mean ? total / divisor : total);
    }
}

// total (op)= each of `rows` rows of `columns` <= 4096 values, which lie `step` apart.
template <typename T>
static void rows_reduced(Reduction kind, const T* x, std::int64_t rows, std::int64_t columns, std::int64_t step,
                         double* total) {
    constexpr std::int64_t high = 64;  // sums of 64 floats lose little; doubles take them from there
    alignas(64) float part[4096];
    if (kind == Reduction::amax || kind == Reduction::amin) {
        const bool largest = kind == Reduction::amax;
        for (std::int64_t c = 0; c < columns; ++c) part[c] = x[c];
        for (std::int64_t row = 1; row < rows; ++row) {
            const T* from = x + row * step;
            if (largest)
                for (std::int64_t c = 0; c < columns; ++c) part[c] = further<true>(part[c], static_cast<float>(from[c]));
            else
                for (std::int64_t c = 0; c < columns; ++c) part[c] = further<false>(part[c], static_cast<float>(from[c]));
        }
        for (std::int64_t c = 0; c < columns; ++c) {
            const double value = static_cast<double>(part[c]);
            total[c] = (largest ? value > total[c] : value < total[c]) || value != value ? value : total[c];
        }
        return;
    }
    if (rows < 4) {
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t c = 0; c < columns; ++c) total[c] += static_cast<double>(static_cast<float>(x[row * step + c]));
        return;
    }
    for (std::int64_t top = 0; top < rows; top += high) {
        const std::int64_t bottom = rows - top < high ? rows : top + high;
        std::int64_t row = top;
        for (; row + 4 <= bottom; row += 4) {
            const T *a = x + row * step, *b = a + step, *c = b + step, *d = c + step;
            const bool first = row == top;
            if (columns <= 256) ask_ahead(a, 4 * columns);
            along(
                columns,
                [&](std::int64_t i) {
                    const floats sum = (load_floats(a + i) + load_floats(b + i)) + (load_floats(c + i) + load_floats(d + i));
                    store_floats(part + i, first ? sum : load_floats(part + i) + sum);
                },
                [&](std::int64_t i, std::int64_t rest) {
                    const floats sum = (load_some(a + i, rest) + load_some(b + i, rest)) +
                                       (load_some(c + i, rest) + load_some(d + i, rest));
                    store_some(part + i, first ? sum : load_some(part + i, rest) + sum, rest);
                });
        }
        if (row == top)
            for (std::int64_t c = 0; c < columns; ++c) part[c] = 0;
        for (; row < bottom; ++row)
            for (std::int64_t c = 0; c < columns; ++c) part[c] += x[row * step + c];
        for (std::int64_t c = 0; c < columns; ++c) total[c] += static_cast<double>(part[c]);
    }
}
