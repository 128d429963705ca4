// Values that chance decides about. Included once per instruction set; see dispatch.hpp.
#include "counter_based_random.inl"

template <typename T, typename Value>
static WORKBENCH_INLINE void written(std::int64_t count, T* out, bool streamed, Value&& value) {
    const auto some = [&](std::int64_t i, std::int64_t n) { store_some(out + i, value(i, n), n); };
    if (streamed) {
        along(out, count, true, [&](std::int64_t i) { stream_floats(out + i, value(i, std::int64_t{lanes})); }, some);
        streams_done();
    } else {
        along(out, count, false, [&](std::int64_t i) { store_floats(out + i, value(i, std::int64_t{lanes})); }, some);
    }
}

template <typename T>
static WORKBENCH_INLINE floats taken(const T* p, std::int64_t count) {
    return count == lanes ? load_floats(p) : load_some(p, count);
}

// out = x * scale + high where a place is kept, x * 0 + low elsewhere. Values share a place where `step` is 0.
template <typename T>
static void dropout_run(const T* x, std::int64_t count, const CounterBasedRandom& random, std::uint32_t place, std::uint32_t step,
                        float scale, float high, float low, T* out, bool streamed) {
    const RandomNumbers numbers(random, place, step);
    const floats factor = all(scale), nothing = all(0.f), up = all(high), down = all(low);
    if (step == 0) {
        const floats by = chosen(numbers.at(0), random.least, factor, nothing);
        const floats more = chosen(numbers.at(0), random.least, up, down);
        if (high != 0.f || low != 0.f)
            written(count, out, streamed, [&](std::int64_t i, std::int64_t n) { return taken(x + i, n) * by + more; });
        else
            written(count, out, streamed, [&](std::int64_t i, std::int64_t n) { return taken(x + i, n) * by; });
    } else if (high != 0.f || low != 0.f) {
        written(count, out, streamed, [&](std::int64_t i, std::int64_t n) {
            const uints number = numbers.at(i);
            return taken(x + i, n) * chosen(number, random.least, factor, nothing) + chosen(number, random.least, up, down);
        });
    } else {
        written(count, out, streamed, [&](std::int64_t i, std::int64_t n) {
            return taken(x + i, n) * chosen(numbers.at(i), random.least, factor, nothing);
        });
    }
}

// out = g where x > 0, a g elsewhere, a = lower + width u with u drawn evenly from [0, 1).
static void rrelu_run(const float* g, const float* x, std::int64_t count, const CounterBasedRandom& random, std::uint32_t place,
                      std::uint32_t step, float lower, float width, float* out, bool streamed) {
    const RandomNumbers numbers(random, place, step);
    written(count, out, streamed, [&](std::int64_t i, std::int64_t n) {
        const floats share = __builtin_convertvector((ints)(numbers.at(i) >> 8), floats) * 5.9604644775390625e-08f;
        const floats value = taken(g + i, n);
        return taken(x + i, n) > 0.f ? value : value * (share * width + lower);
    });
}
