// A row of an image of codes at places between its own. Included once per instruction set; see dispatch.hpp.

// The nearest whole number of value·2^-shift, halves to even.
static WORKBENCH_INLINE std::int64_t shifted_code(std::int64_t value, int shift) {
    const std::int64_t whole = value >> shift;
    return (value + (std::int64_t{1} << (shift - 1)) - 1 + (whole & 1)) >> shift;
}

template <typename Sum>
static WORKBENCH_INLINE void resample_one(const std::uint8_t* const* rows, const std::int64_t* weights, std::int64_t many,
                                          const CodesAlong& along, std::int64_t channels, int shift, Sum* between,
                                          std::uint8_t* out) {
    const std::int64_t count = along.size * channels;
    for (std::int64_t i = 0; i < count; ++i) between[i] = 0;
    for (std::int64_t row = 0; row < many; ++row) {
        const std::uint8_t* codes = rows[row];
        const Sum weight = static_cast<Sum>(weights[row]);
        for (std::int64_t i = 0; i < count; ++i) between[i] += weight * static_cast<Sum>(codes[i]);
    }
    for (std::int64_t x = 0; x < along.places; ++x) {
        const std::int64_t* reads = along.reads + x * along.taps;
        const std::int32_t* by = along.weights + x * along.taps;
        std::uint8_t* to = out + x * channels;
        for (std::int64_t c = 0; c < channels; ++c) {
            std::int64_t sum = 0;
            for (std::int64_t tap = 0; tap < along.taps; ++tap)
                sum += static_cast<std::int64_t>(by[tap]) * between[reads[tap] * channels + c];
            const std::int64_t code = shifted_code(sum, shift);
            to[c] = static_cast<std::uint8_t>(code < 0 ? 0 : code > 255 ? 255 : code);
        }
    }
}

// Rows that are mixed first, in 32 bits where their weights are one dim's, and then along themselves.
static void resample_row(const std::uint8_t* const* rows, const std::int64_t* weights, std::int64_t many, bool narrow,
                         const CodesAlong& along, std::int64_t channels, int shift, std::int64_t* between,
                         std::uint8_t* out) {
    if (narrow)
        resample_one(rows, weights, many, along, channels, shift, reinterpret_cast<std::int32_t*>(between), out);
    else
        resample_one(rows, weights, many, along, channels, shift, between, out);
}
