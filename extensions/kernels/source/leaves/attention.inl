// One row of scores: softmax, and its gradient. Included once per instruction set; see dispatch.hpp.
#include "functions.inl"

typedef std::uint32_t uints __attribute__((vector_size(sizeof(floats))));

static WORKBENCH_INLINE uints mixed(uints h) {
    h ^= h >> 16, h *= 0x7feb352du;
    h ^= h >> 15, h *= 0x846ca68bu;
    return h ^ (h >> 16);
}

// Which of a row's weights are kept, scaled; `from` is the row's own seed. As `kept` in workbench/ops/chance.py.
struct Dropping {
    std::uint32_t from, least;
    float scale;

    WORKBENCH_INLINE floats factor(std::int64_t first) const {
        if (!least) return all(1.f);
        uints column;
        for (int i = 0; i < lanes; ++i) column[i] = static_cast<std::uint32_t>(first + i) * 0x9e3779b9u;
        const uints drawn = mixed(column + from);
        return drawn >= least ? all(scale) : all(0.f);
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
static float attention_row(float* scores, std::int64_t count, std::int64_t visible, const float* mask, std::uint32_t from,
                           std::uint32_t least, float scale) {
    const Dropping dropping{from, least, scale};
    floats highest = all(-__builtin_inff());
    float most = -__builtin_inff();
    along_row(visible, [&](std::int64_t i, std::int64_t n) {
        floats value = row_floats(scores + i, n);
        if (mask) {
            value = value + row_floats(mask + i, n);
            row_store(scores + i, value, n);
        }
        if (n == lanes)
            highest = larger(highest, value);
        else
            for (std::int64_t k = 0; k < n; ++k) most = value[k] > most || value[k] != value[k] ? value[k] : most;
    });
    for (int k = 0; k < lanes; ++k) most = highest[k] > most || highest[k] != highest[k] ? highest[k] : most;
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
                                   float normal, float delta, float factor, std::uint32_t from, std::uint32_t least,
                                   float scale) {
    const Dropping dropping{from, least, scale};
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
