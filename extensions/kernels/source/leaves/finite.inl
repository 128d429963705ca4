// Whether all values are finite. Included once per instruction set; see dispatch.hpp.
static bool is_finite(const float* values, std::int64_t count) {
    // The exponent of infinities and of NaN is all ones. A sum over the bits, which the compiler does many at a time.
    std::uint32_t found = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        std::uint32_t bits;
        __builtin_memcpy(&bits, values + i, sizeof bits);
        found |= (bits & 0x7f800000u) == 0x7f800000u;
    }
    return found == 0;
}
