// One row of one step of a recurrent layer, and its gradient. Included once per instruction set; see dispatch.hpp.
#include "functions.inl"

static WORKBENCH_INLINE floats some_floats(const float* p, std::int64_t count) {
    return count == lanes ? load_floats(p) : load_some(p, count);
}
static WORKBENCH_INLINE void put_floats(float* p, floats v, std::int64_t count) {
    if (count == lanes)
        store_floats(p, v);
    else
        store_some(p, v, count);
}
// Calls step(i, count) for whole vectors and for what is left.
template <typename Step>
static WORKBENCH_INLINE void each(std::int64_t size, Step&& step) {
    along(
        size, [&](std::int64_t i) { step(i, std::int64_t{lanes}); },
        [&](std::int64_t i, std::int64_t count) { step(i, count); });
}

// What a row reads and writes comes from far, and the next row's follows on it: it is asked for while this one is computed.
static WORKBENCH_INLINE void soon_read(const float* next) { __builtin_prefetch(next, 0); }
static WORKBENCH_INLINE void soon_written(const float* next) { __builtin_prefetch(next, 1); }

static void rnn_row(const float* pre, const float* product, std::int64_t size, bool relu, float* state, float* out) {
    each(size, [&](std::int64_t i, std::int64_t n) {
        const floats sum = some_floats(pre + i, n) + some_floats(product + i, n);
        const floats h = relu ? larger(all(0.f), sum) : hyperbolic_tangent(sum);
        put_floats(state + i, h, n), put_floats(out + i, h, n);
    });
}

static void rnn_back_row(const float* g, const float* d_state, const float* y, std::int64_t size, bool relu, float* d_pre) {
    each(size, [&](std::int64_t i, std::int64_t n) {
        const floats h = some_floats(y + i, n), d = some_floats(g + i, n) + some_floats(d_state + i, n);
        put_floats(d_pre + i, relu ? (h <= 0.f ? all(0.f) : d) : d * (1.f - h * h), n);
    });
}

// Gates lie as input, forget, candidate, output.
static void lstm_row(const float* pre, const float* product, std::int64_t size, float* memory, float* state, float* gates,
                     float* cells, float* out) {
    each(size, [&](std::int64_t i, std::int64_t n) {
        const auto sum = [&](std::int64_t k) {
            soon_read(pre + (4 + k) * size + i), soon_written(gates + (4 + k) * size + i);
            return some_floats(pre + k * size + i, n) + some_floats(product + k * size + i, n);
        };
        const floats in = logistic(sum(0)), forget = logistic(sum(1)), candidate = hyperbolic_tangent(sum(2));
        const floats shown = logistic(sum(3));
        const floats cell = forget * some_floats(memory + i, n) + in * candidate;
        const floats h = shown * hyperbolic_tangent(cell);
        put_floats(gates + i, in, n), put_floats(gates + size + i, forget, n);
        put_floats(gates + 2 * size + i, candidate, n), put_floats(gates + 3 * size + i, shown, n);
        soon_written(cells + size + i), soon_written(out + size + i);
        put_floats(memory + i, cell, n), put_floats(cells + i, cell, n);
        put_floats(state + i, h, n), put_floats(out + i, h, n);
    });
}

static void lstm_back_row(const float* g, const float* d_state, const float* gates, const float* cells, const float* before,
                          std::int64_t size, float* d_memory, float* d_pre) {
    each(size, [&](std::int64_t i, std::int64_t n) {
        const floats d = some_floats(g + i, n) + some_floats(d_state + i, n);
        const floats in = some_floats(gates + i, n), forget = some_floats(gates + size + i, n);
        const floats candidate = some_floats(gates + 2 * size + i, n), shown = some_floats(gates + 3 * size + i, n);
        const floats bent = hyperbolic_tangent(some_floats(cells + i, n));
        const floats d_cell = some_floats(d_memory + i, n) + d * shown * (1.f - bent * bent);
        put_floats(d_pre + i, d_cell * candidate * in * (1.f - in), n);
        put_floats(d_pre + size + i, d_cell * some_floats(before + i, n) * forget * (1.f - forget), n);
        put_floats(d_pre + 2 * size + i, d_cell * in * (1.f - candidate * candidate), n);
        put_floats(d_pre + 3 * size + i, d * bent * shown * (1.f - shown), n);
        put_floats(d_memory + i, d_cell * forget, n);
    });
}

// Gates lie as reset, update, candidate.
static void gru_row(const float* pre, const float* product, const float* bias, std::int64_t size, float* state, float* gates,
                    float* inner, float* out) {
    each(size, [&](std::int64_t i, std::int64_t n) {
        const auto own = [&](std::int64_t k) {
            const floats value = some_floats(product + k * size + i, n);
            return bias ? value + some_floats(bias + k * size + i, n) : value;
        };
        const floats reset = logistic(some_floats(pre + i, n) + own(0));
        const floats update = logistic(some_floats(pre + size + i, n) + own(1));
        const floats sum = own(2), before = some_floats(state + i, n);
        const floats candidate = hyperbolic_tangent(some_floats(pre + 2 * size + i, n) + reset * sum);
        const floats h = candidate + update * (before - candidate);
        put_floats(gates + i, reset, n), put_floats(gates + size + i, update, n);
        put_floats(gates + 2 * size + i, candidate, n), put_floats(inner + i, sum, n);
        put_floats(state + i, h, n), put_floats(out + i, h, n);
    });
}

// What flows to the state before: `carry` directly, and d_product through the weight.
static void gru_back_row(const float* g, const float* through, const float* gates, const float* inner, const float* before,
                         std::int64_t size, float* carry, float* d_pre, float* d_product) {
    each(size, [&](std::int64_t i, std::int64_t n) {
        const floats d = some_floats(g + i, n) + some_floats(carry + i, n) + some_floats(through + i, n);
        const floats reset = some_floats(gates + i, n), update = some_floats(gates + size + i, n);
        const floats candidate = some_floats(gates + 2 * size + i, n);
        const floats d_candidate = d * (1.f - update) * (1.f - candidate * candidate);
        const floats d_update = d * (some_floats(before + i, n) - candidate) * update * (1.f - update);
        const floats d_reset = d_candidate * some_floats(inner + i, n) * reset * (1.f - reset);
        put_floats(d_pre + i, d_reset, n), put_floats(d_product + i, d_reset, n);
        put_floats(d_pre + size + i, d_update, n), put_floats(d_product + size + i, d_update, n);
        put_floats(d_pre + 2 * size + i, d_candidate, n), put_floats(d_product + 2 * size + i, d_candidate * reset, n);
        put_floats(carry + i, d * update, n);
    });
}
