// Losses of values against targets, and gradients through them. Included once per instruction set; see dispatch.hpp.
#include "functions.inl"

// NaN stays.
static WORKBENCH_INLINE floats within(floats d, floats p) {
    const floats above = d < -p ? -p : d;
    return above > p ? p : above;
}

// t ln t, which is 0 at 0. The logarithm of t = 2^n (1 + f), f from sqrt(1/2) - 1 to sqrt(2) - 1, is the series of Cephes in f
// and n ln2, which is added in two parts.
static WORKBENCH_INLINE floats times_logarithm(floats t) {
    const ints tiny = t < 1.17549435e-38f;
    const ints bits = (ints)(tiny ? t * 8388608.f : t), moved = bits - 0x3f3504f3, power = moved >> 23;
    const floats f = (floats)((moved & 0x007fffff) + 0x3f3504f3) - 1.f, square = f * f;
    const floats n = __builtin_convertvector(power, floats) - (tiny ? all(23.f) : all(0.f));
    floats series = all(7.0376836292e-2f);
    series = series * f - 1.1514610310e-1f;
    series = series * f + 1.1676998740e-1f;
    series = series * f - 1.2420140846e-1f;
    series = series * f + 1.4249322787e-1f;
    series = series * f - 1.6668057665e-1f;
    series = series * f + 2.0000714765e-1f;
    series = series * f - 2.4999993993e-1f;
    series = series * f + 3.3333331174e-1f;
    const floats rest = series * f * square + n * -2.12194440e-4f - square * 0.5f;
    const floats product = t * (f + rest + n * 0.693359375f);
    return t > 0.f ? product : (t < 0.f ? all(__builtin_nanf("")) : t);
}

template <Loss kind>
static WORKBENCH_INLINE floats loss_of(floats x, floats t, [[maybe_unused]] floats p, [[maybe_unused]] floats q) {
    const floats d = x - t;
    if constexpr (kind == Loss::square) return d * d;
    if constexpr (kind == Loss::magnitude) return magnitude(d);
    if constexpr (kind == Loss::huber) {
        const floats near = within(d, p);
        return near * q * (d - near * 0.5f);
    }
    if constexpr (kind == Loss::logits) {
        const floats below = x > 0.f ? all(0.f) : -x;
        return (1.f - t) * x + below + logarithm_of_one_and(exponential(-magnitude(x)));
    }
    if constexpr (kind == Loss::divergence) return times_logarithm(t) - t * x;
    if constexpr (kind == Loss::divergence_of_logs) return exponential(t) * (t - x);
}

// What the loss grows by with x.
template <Loss kind>
static WORKBENCH_INLINE floats slope_of(floats x, floats t, [[maybe_unused]] floats p, [[maybe_unused]] floats q) {
    const floats d = x - t;
    if constexpr (kind == Loss::square) return d;  // half of it: what comes in is doubled, which leaves no type
    if constexpr (kind == Loss::magnitude) return d > 0.f ? all(1.f) : (d < 0.f ? all(-1.f) : all(0.f));  // NaN has no direction
    if constexpr (kind == Loss::huber) return within(d, p) * q;
    if constexpr (kind == Loss::logits) return logistic(x) - t;
    if constexpr (kind == Loss::divergence) return -t;
    if constexpr (kind == Loss::divergence_of_logs) return -exponential(t);
}

// The sum of the losses of a run: 64 of them are added in each lane, then doubles take over.
template <Loss kind>
static WORKBENCH_INLINE double sum_of(const float* x, const float* t, std::int64_t count, float bound, float factor) {
    const floats p = all(bound), q = all(factor);
    const auto at = [&](std::int64_t i) { return loss_of<kind>(load_floats(x + i), load_floats(t + i), p, q); };
    double total = 0;
    std::int64_t i = 0;
    constexpr std::int64_t step = 4 * lanes;
    while (i + step <= count) {
        const std::int64_t end = count - i > 16 * step ? i + 16 * step : i + (count - i) / step * step;
        floats a = all(0.f), b = a, c = a, d = a;
        for (; i < end; i += step) {
            a += at(i), b += at(i + lanes);
            c += at(i + 2 * lanes), d += at(i + 3 * lanes);
        }
        total += static_cast<double>(lanes_sum((a + b) + (c + d)));
    }
    floats rest = all(0.f);
    for (; i + lanes <= count; i += lanes) rest += at(i);
    if (i < count) {
        const std::int64_t some = count - i;
        rest += keep_some(loss_of<kind>(load_some(x + i, some), load_some(t + i, some), p, q), some);
    }
    return total + static_cast<double>(lanes_sum(rest));
}

template <Loss kind>
static WORKBENCH_INLINE void each_of(const float* x, const float* t, std::int64_t count, float bound, float factor, float* out,
                                     bool streamed) {
    const floats p = all(bound), q = all(factor);
    const auto whole = [&](std::int64_t i) { return loss_of<kind>(load_floats(x + i), load_floats(t + i), p, q); };
    const auto some = [&](std::int64_t i, std::int64_t rest) {
        store_some(out + i, loss_of<kind>(load_some(x + i, rest), load_some(t + i, rest), p, q), rest);
    };
    if (streamed) {
        along(out, count, true, [&](std::int64_t i) { stream_floats(out + i, whole(i)); }, some);
        streams_done();
    } else {
        along(out, count, false, [&](std::int64_t i) { store_floats(out + i, whole(i)); }, some);
    }
}

// One gradient for all (`g` is null: `share` is that), or one for each.
template <Loss kind, bool each>
static WORKBENCH_INLINE void gradient_of(const float* g, float share, const float* x, const float* t, std::int64_t count, float bound,
                                         float factor, float* out, bool streamed) {
    constexpr float times = kind == Loss::square ? 2.f : 1.f;
    const floats p = all(bound), q = all(factor), one = all(share * times);
    const auto whole = [&](std::int64_t i) {
        return (each ? load_floats(g + i) * times : one) * slope_of<kind>(load_floats(x + i), load_floats(t + i), p, q);
    };
    const auto some = [&](std::int64_t i, std::int64_t rest) {
        const floats slope = slope_of<kind>(load_some(x + i, rest), load_some(t + i, rest), p, q);
        store_some(out + i, (each ? load_some(g + i, rest) * times : one) * slope, rest);
    };
    if (streamed) {
        along(out, count, true, [&](std::int64_t i) { stream_floats(out + i, whole(i)); }, some);
        streams_done();
    } else {
        along(out, count, false, [&](std::int64_t i) { store_floats(out + i, whole(i)); }, some);
    }
}

#define WORKBENCH_LOSSES(call)                                               \
    switch (kind) {                                                          \
        case Loss::square: call(Loss::square); break;                        \
        case Loss::magnitude: call(Loss::magnitude); break;                  \
        case Loss::huber: call(Loss::huber); break;                          \
        case Loss::logits: call(Loss::logits); break;                        \
        case Loss::divergence: call(Loss::divergence); break;                \
        case Loss::divergence_of_logs: call(Loss::divergence_of_logs); break; \
    }

static double loss_sum(Loss kind, const float* x, const float* t, std::int64_t count, float p, float q) {
#define WORKBENCH_LOSS(kind) return sum_of<kind>(x, t, count, p, q)
    WORKBENCH_LOSSES(WORKBENCH_LOSS)
#undef WORKBENCH_LOSS
    return 0;
}

static void loss_each(Loss kind, const float* x, const float* t, std::int64_t count, float p, float q, float* out, bool streamed) {
#define WORKBENCH_LOSS(kind) each_of<kind>(x, t, count, p, q, out, streamed)
    WORKBENCH_LOSSES(WORKBENCH_LOSS)
#undef WORKBENCH_LOSS
}

static void loss_gradient(Loss kind, const float* g, float share, const float* x, const float* t, std::int64_t count, float p, float q,
                          float* out, bool streamed) {
#define WORKBENCH_LOSS(kind)                                                       \
    g ? gradient_of<kind, true>(g, share, x, t, count, p, q, out, streamed) \
      : gradient_of<kind, false>(g, share, x, t, count, p, q, out, streamed)
    WORKBENCH_LOSSES(WORKBENCH_LOSS)
#undef WORKBENCH_LOSS
}
#undef WORKBENCH_LOSSES
