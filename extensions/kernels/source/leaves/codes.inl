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

// Each op of it rounds, as the ops do one after the other.
static WORKBENCH_INLINE void add_some_codes(const std::uint8_t* codes, const std::uint8_t* others, const CodesSum& of, float least,
                                            std::int64_t count, std::uint8_t* __restrict out) {
    for (std::int64_t i = 0; i < count; ++i) {
        const float own = (static_cast<float>(codes[i]) - of.zero) * of.scale;
        const float other = (static_cast<float>(others[i]) - of.other_zero) * of.other_scale;
        float value = own + other;
        value = value < least ? least : value;
        value = __builtin_rintf(__builtin_fmaf(value, of.inverse, of.out_zero));
        value = value < of.high ? value : of.high;
        value = value > of.low ? value : of.low;
        out[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(value));
    }
}

// Over the first codes, or elsewhere: by way of a few bytes that nothing else shows, as vectors want it.
static void add_to_codes(const std::uint8_t* codes, const std::uint8_t* others, const CodesSum& sum, std::int64_t count,
                         std::uint8_t* out) {
    constexpr int together = 64;
    const CodesSum of = sum;
    const float least = of.relu ? 0.f : -__builtin_inff();
    std::int64_t i = 0;
    for (; i + together <= count; i += together) {
        std::uint8_t made[together];
        add_some_codes(codes + i, others + i, of, least, together, made);
        __builtin_memcpy(out + i, made, together);
    }
    std::uint8_t made[together];
    add_some_codes(codes + i, others + i, of, least, count - i, made);
    for (std::int64_t k = 0; i + k < count; ++k) out[i + k] = made[k];
}
