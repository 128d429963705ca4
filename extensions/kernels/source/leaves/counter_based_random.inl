// A number below 2^32 for each place, which a seed decides: a hash of both, as `drawn` in workbench/ops/random/counter_based.py.

typedef std::uint32_t uints __attribute__((vector_size(sizeof(floats))));

static WORKBENCH_INLINE uints drawn(uints h, std::uint32_t key) {
    h ^= h >> 16, h *= 0x7feb352du, h ^= key;
    h ^= h >> 15, h *= 0x846ca68bu;
    return h ^ (h >> 16);
}

// Numbers of places that are `step` apart, from `place` on: number i of them from lane 0 of at(i) on.
struct RandomNumbers {
    uints first;
    std::uint32_t step, key;

    WORKBENCH_INLINE RandomNumbers(const CounterBasedRandom& random, std::uint32_t place, std::uint32_t step)
        : step(step * golden_ratio), key(random.key) {
        for (int i = 0; i < lanes; ++i) first[i] = (place + static_cast<std::uint32_t>(i) * step) * golden_ratio + random.start;
    }
    WORKBENCH_INLINE uints at(std::int64_t i) const { return drawn(first + static_cast<std::uint32_t>(i) * step, key); }
};

// `high` where a number is at least `least`, `low` elsewhere.
static WORKBENCH_INLINE floats chosen(uints numbers, std::uint64_t least, floats high, floats low) {
    if (least >> 32) return low;
    return numbers >= static_cast<std::uint32_t>(least) ? high : low;
}
