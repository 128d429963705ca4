// bfloat16 as memory holds it: the upper half of a float. What is read becomes a float, everything is computed in floats,
// and what is written is rounded once, to the nearest, ties to even.
//
// The instruction that rounds (vcvtneps2bf16) is not used: it takes what is below 1.2e-38 for zero, where PyTorch and
// NumPy keep it, and four operations on integers cost nothing beside reading and writing memory. So every processor
// gives the same bits. A NaN stays one, and keeps its sign; its other bits become those of the quiet one.
#pragma once

#include <cstdint>

namespace workbench {

struct bfloat16 {
    std::uint16_t bits;

    bfloat16() = default;
    inline __attribute__((always_inline)) bfloat16(float value) {
        std::uint32_t whole;
        __builtin_memcpy(&whole, &value, sizeof whole);
        const std::uint32_t rounded = (whole + 0x7fff + ((whole >> 16) & 1)) >> 16;
        bits = static_cast<std::uint16_t>(value != value ? ((whole >> 16) & 0x8000) | 0x7fc0 : rounded);
    }
    inline __attribute__((always_inline)) operator float() const {
        const std::uint32_t whole = static_cast<std::uint32_t>(bits) << 16;
        float value;
        __builtin_memcpy(&value, &whole, sizeof value);
        return value;
    }
};

// The type by which an array of such values crosses from Python: NumPy's own protocols know no bfloat16.
template <typename T>
struct Carried {
    using type = T;
};
template <>
struct Carried<bfloat16> {
    using type = std::uint16_t;
};

}  // namespace workbench
