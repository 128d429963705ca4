// A counter-based random generator, see leaves/counter_based_random.inl and workbench/ops/random/counter_based.py.
#pragma once

#include <cstdint>

namespace workbench {

constexpr std::uint32_t golden_ratio = 0x9e3779b9u;  // 2^32 over it: multiples lie evenly spread

// A seed as the hash takes it, and the least number that is not among the share `p` of the lowest.
struct CounterBasedRandom {
    std::uint32_t start, key;
    std::uint64_t least;  // 2^32 if all are

    explicit CounterBasedRandom(std::uint64_t seed, double p = 0.0)
        : start(static_cast<std::uint32_t>(seed)), key(static_cast<std::uint32_t>(seed >> 32) * golden_ratio),
          least(p >= 1.0 ? std::uint64_t{1} << 32 : p > 0.0 ? static_cast<std::uint64_t>(p * 4294967296.0) : 0) {}
};

}  // namespace workbench
