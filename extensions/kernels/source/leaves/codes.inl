// Arithmetic on codes, and tables of them. Included once per instruction set; see dispatch.hpp. Compiled without contraction, as
// NumPy computes.

static void look_up(const std::uint8_t* codes, const std::uint8_t* table, std::int64_t count, std::uint8_t* out) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = table[codes[i]];
}

static WORKBENCH_INLINE std::uint8_t code_of(float value, const CodesOut& to) {
    const float code = __builtin_rintf(value * to.inverse) + to.zero;
    const float most = code < to.high ? code : to.high;
    return static_cast<std::uint8_t>(static_cast<std::int32_t>(most > to.low ? most : to.low));
}

// Rounded once, as PyTorch does it.
static WORKBENCH_INLINE float real_of(std::uint8_t code, const CodesIn& of) {
    return __builtin_fmaf(static_cast<float>(code), of.scale, -(of.zero * of.scale));
}

static void add_codes(const std::uint8_t* a, const CodesIn& of_a, const std::uint8_t* b, const CodesIn& of_b, std::int64_t count,
                      const CodesOut& to, std::uint8_t* out) {
    for (std::int64_t i = 0; i < count; ++i)
        out[i] = code_of(real_of(a[i], of_a) + real_of(b[i], of_b), to);
}

static void multiply_codes(const std::uint8_t* a, const CodesIn& of_a, const std::uint8_t* b, const CodesIn& of_b,
                           std::int64_t count, const CodesOut& to, std::uint8_t* out) {
    for (std::int64_t i = 0; i < count; ++i)
        out[i] = code_of((static_cast<float>(a[i]) - of_a.zero) * (static_cast<float>(b[i]) - of_b.zero), to);
}
