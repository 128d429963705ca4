// One row of scores: softmax, and its gradient. Included once per instruction set; see dispatch.hpp.
#include "counter_based_random.inl"
#include "casts.inl"
#include "functions.inl"

// Which of a row's weights are kept, scaled; `place` is that of the row's first weight.
struct Dropping {
    RandomNumbers numbers;
    std::uint64_t least;
    float scale;

    WORKBENCH_INLINE Dropping(const CounterBasedRandom& random, std::uint32_t place, float scale)
        : numbers(random, place, 1), least(random.least), scale(scale) {}
    WORKBENCH_INLINE floats factor(std::int64_t first) const {
        return least ? chosen(numbers.at(first), least, all(scale), all(0.f)) : all(1.f);
    }
};

static WORKBENCH_INLINE floats row_floats(const float* p, std::int64_t count) {
    return count == lanes ? load_floats(p) : load_some(p, count);
}
static WORKBENCH_INLINE void row_store(float* p, floats v, std::int64_t count) {
    if (count == lanes)
        store_floats(p, v);
    else
        store_some(p, v, count);
}
template <typename Step>
static WORKBENCH_INLINE void along_row(std::int64_t count, Step&& step) {
    along(
        count, [&](std::int64_t i) { step(i, std::int64_t{lanes}); },
        [&](std::int64_t i, std::int64_t n) { step(i, n); });
}

// Scores become weights, of which those after the first `visible` are zero; returns the logarithm of the sum of
// exponentials, infinity where there is nothing to look at.
static float attention_row(float* scores, std::int64_t count, std::int64_t visible, const float* mask, const CounterBasedRandom& random,
                           std::uint32_t place, float scale) {
    const Dropping dropping(random, place, scale);
    floats highest = all(-__builtin_inff());
    ints nan = highest != highest;  // `larger` keeps a NaN only until the next value
    float most = -__builtin_inff();
    along_row(visible, [&](std::int64_t i, std::int64_t n) {
        floats value = row_floats(scores + i, n);
        if (mask) {
            value = value + row_floats(mask + i, n);
            row_store(scores + i, value, n);
        }
        if (n == lanes)
            highest = larger(highest, value), nan |= value != value;
        else
            for (std::int64_t k = 0; k < n; ++k) most = value[k] > most || value[k] != value[k] ? value[k] : most;
    });
    for (int k = 0; k < lanes; ++k) {
        most = highest[k] > most ? highest[k] : most;
        if (nan[k]) most = __builtin_nanf("");
    }
    const bool nothing = most == -__builtin_inff();
    double total = 0;
    if (!nothing) {
        floats sum = all(0.f);
        along_row(visible, [&](std::int64_t i, std::int64_t n) {
            const floats value = exponential(row_floats(scores + i, n) - most);
            row_store(scores + i, value, n);
            if (n == lanes)
                sum = sum + value;
            else
                for (std::int64_t k = 0; k < n; ++k) total += static_cast<double>(value[k]);
        });
        total += static_cast<double>(lanes_sum(sum));
    }
    const float share = nothing ? 0.f : static_cast<float>(1.0 / total);
    along_row(visible, [&](std::int64_t i, std::int64_t n) {
        const floats value = nothing ? all(0.f) : row_floats(scores + i, n) * share * dropping.factor(i);
        row_store(scores + i, value, n);
    });
    for (std::int64_t i = visible; i < count; ++i) scores[i] = 0.f;
    return nothing ? __builtin_inff() : most + static_cast<float>(__builtin_log(total));
}

// Scores become weights again, and the gradients of weights those of scores, times `factor`.
static void attention_gradient_row(float* scores, float* gradients, std::int64_t count, std::int64_t visible, const float* mask,
                                   float normal, float delta, float factor, const CounterBasedRandom& random, std::uint32_t place,
                                   float scale) {
    const Dropping dropping(random, place, scale);
    along_row(visible, [&](std::int64_t i, std::int64_t n) {
        floats value = row_floats(scores + i, n);
        if (mask) value = value + row_floats(mask + i, n);
        const floats weight = exponential(value - normal), kept = dropping.factor(i);
        row_store(gradients + i, weight * (row_floats(gradients + i, n) * kept - delta) * factor, n);
        row_store(scores + i, weight * kept, n);
    });
    for (std::int64_t i = visible; i < count; ++i) scores[i] = 0.f, gradients[i] = 0.f;
}

static float products_sum(const float* a, const float* b, std::int64_t count) {
    floats sum = all(0.f);
    float rest = 0.f;
    along_row(count, [&](std::int64_t i, std::int64_t n) {
        const floats product = row_floats(a + i, n) * row_floats(b + i, n);
        if (n == lanes)
            sum = sum + product;
        else
            for (std::int64_t k = 0; k < n; ++k) rest += product[k];
    });
    return rest + lanes_sum(sum);
}
