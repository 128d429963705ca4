// Loops over functions of doubles. Included once per instruction set; see dispatch.hpp.
#include "double_functions.inl"

template <DoubleFunction kind>
static WORKBENCH_INLINE doubles function_of(doubles x) {
    if constexpr (kind == DoubleFunction::sigmoid) return logistic(x);
    if constexpr (kind == DoubleFunction::relu) return x < 0.0 ? every(0.0) : x;
    return turned_anyhow<kind == DoubleFunction::cos>(x);
}

template <DoubleFunction kind>
static void double_run_of(const double* x, std::int64_t count, double* out) {
    each_double(count, [&](std::int64_t i, std::int64_t n) { put_doubles(out + i, function_of<kind>(doubles_at(x + i, n)), n); });
}
static void double_run(DoubleFunction kind, const double* x, std::int64_t count, double* out) {
    switch (kind) {
        case DoubleFunction::sin: double_run_of<DoubleFunction::sin>(x, count, out); break;
        case DoubleFunction::cos: double_run_of<DoubleFunction::cos>(x, count, out); break;
        case DoubleFunction::sigmoid: double_run_of<DoubleFunction::sigmoid>(x, count, out); break;
        case DoubleFunction::relu: double_run_of<DoubleFunction::relu>(x, count, out); break;
    }
}

// The gates of one row of a step, from their sums, and what comes of them; as in recurrent.inl, in doubles.
static void lstm_gates_row(const double* sums, const double* memory, std::int64_t size, double* gates, double* cells, double* out) {
    each_double(size, [&](std::int64_t i, std::int64_t n) {
        const doubles in = logistic(doubles_at(sums + i, n)), forget = logistic(doubles_at(sums + size + i, n));
        const doubles candidate = hyperbolic_tangent(doubles_at(sums + 2 * size + i, n));
        const doubles shown = logistic(doubles_at(sums + 3 * size + i, n));
        const doubles cell = forget * doubles_at(memory + i, n) + in * candidate;
        put_doubles(gates + i, in, n), put_doubles(gates + size + i, forget, n);
        put_doubles(gates + 2 * size + i, candidate, n), put_doubles(gates + 3 * size + i, shown, n);
        put_doubles(cells + i, cell, n), put_doubles(out + i, shown * hyperbolic_tangent(cell), n);
    });
}
static void lstm_gates_back_row(const double* d, const double* d_memory, const double* before, const double* cells,
                                const double* gates, std::int64_t size, double* d_sums, double* d_before) {
    each_double(size, [&](std::int64_t i, std::int64_t n) {
        const doubles d_h = doubles_at(d + i, n), bent = hyperbolic_tangent(doubles_at(cells + i, n));
        const doubles in = doubles_at(gates + i, n), forget = doubles_at(gates + size + i, n);
        const doubles candidate = doubles_at(gates + 2 * size + i, n), shown = doubles_at(gates + 3 * size + i, n);
        const doubles d_cell = doubles_at(d_memory + i, n) + d_h * shown * (1.0 - bent * bent);
        put_doubles(d_sums + i, d_cell * candidate * in * (1.0 - in), n);
        put_doubles(d_sums + size + i, d_cell * doubles_at(before + i, n) * forget * (1.0 - forget), n);
        put_doubles(d_sums + 2 * size + i, d_cell * in * (1.0 - candidate * candidate), n);
        put_doubles(d_sums + 3 * size + i, d_h * bent * shown * (1.0 - shown), n);
        put_doubles(d_before + i, d_cell * forget, n);
    });
}
static void gru_gates_row(const double* pre, const double* own, const double* before, std::int64_t size, double* gates, double* out) {
    each_double(size, [&](std::int64_t i, std::int64_t n) {
        const doubles reset = logistic(doubles_at(pre + i, n) + doubles_at(own + i, n));
        const doubles update = logistic(doubles_at(pre + size + i, n) + doubles_at(own + size + i, n));
        const doubles candidate =
            hyperbolic_tangent(doubles_at(pre + 2 * size + i, n) + reset * doubles_at(own + 2 * size + i, n));
        put_doubles(gates + i, reset, n), put_doubles(gates + size + i, update, n);
        put_doubles(gates + 2 * size + i, candidate, n);
        put_doubles(out + i, candidate + update * (doubles_at(before + i, n) - candidate), n);
    });
}
static void gru_gates_back_row(const double* d, const double* before, const double* gates, const double* inner, std::int64_t size,
                               double* d_pre, double* d_own, double* carry) {
    each_double(size, [&](std::int64_t i, std::int64_t n) {
        const doubles d_h = doubles_at(d + i, n), reset = doubles_at(gates + i, n), update = doubles_at(gates + size + i, n);
        const doubles candidate = doubles_at(gates + 2 * size + i, n);
        const doubles d_candidate = d_h * (1.0 - update) * (1.0 - candidate * candidate);
        const doubles d_update = d_h * (doubles_at(before + i, n) - candidate) * update * (1.0 - update);
        const doubles d_reset = d_candidate * doubles_at(inner + i, n) * reset * (1.0 - reset);
        put_doubles(d_pre + i, d_reset, n), put_doubles(d_own + i, d_reset, n);
        put_doubles(d_pre + size + i, d_update, n), put_doubles(d_own + size + i, d_update, n);
        put_doubles(d_pre + 2 * size + i, d_candidate, n), put_doubles(d_own + 2 * size + i, d_candidate * reset, n);
        put_doubles(carry + i, d_h * update, n);
    });
}

// ln(1 + e^(beta x)) / beta; x itself where beta x is beyond the threshold.
static void softplus_run(const double* x, double beta, double threshold, std::int64_t count, double* out) {
    each_double(count, [&](std::int64_t i, std::int64_t n) {
        const doubles value = doubles_at(x + i, n), scaled = value * beta;
        const doubles rest = logarithm_of_one_and(falling_exponential(-size_of(scaled)));
        put_doubles(out + i, scaled > threshold ? value : (scaled > 0.0 ? scaled + rest : rest) / beta, n);
    });
}
static void softplus_gradient_run(const double* g, const double* x, double beta, double threshold, std::int64_t count, double* out) {
    each_double(count, [&](std::int64_t i, std::int64_t n) {
        const doubles gradient = doubles_at(g + i, n), scaled = doubles_at(x + i, n) * beta;
        put_doubles(out + i, scaled > threshold ? gradient : gradient * logistic(scaled), n);
    });
}
