// Rows of codes: their softmax, and their normalisation. Included once per instruction set; see dispatch.hpp. Compiled without
// contraction, as NumPy computes.

static WORKBENCH_INLINE std::uint8_t bounded_code(float rounded, const RowsOut& to) {
    const float code = rounded + to.zero;
    const float most = code < to.high ? code : to.high;
    return static_cast<std::uint8_t>(static_cast<std::int32_t>(most > to.low ? most : to.low));
}

static void softmax_row(const std::uint8_t* codes, std::int64_t count, const SoftmaxOfCodes& of, std::uint8_t* out) {
    std::uint8_t most = 0;
    for (std::int64_t i = 0; i < count; ++i) most = codes[i] > most ? codes[i] : most;
    // What is added 256 at a time fits 32 bits.
    std::int64_t sum = 0;
    const std::int32_t* powers = of.powers;
    for (std::int64_t i = 0; i < count;) {
        const std::int64_t end = i + 255 < count ? i + 255 : count;
        std::uint32_t part = 0;
        for (; i < end; ++i) part += static_cast<std::uint32_t>(powers[most - codes[i]]);
        sum += part;
    }
    const float factor = static_cast<float>(1. / (static_cast<double>(sum) * of.scale));
    const auto code = [&](int below) { return bounded_code(__builtin_rintf(static_cast<float>(powers[below]) * factor), of.out); };
    if (count <= 256) {
        for (std::int64_t i = 0; i < count; ++i) out[i] = code(most - codes[i]);
        return;
    }
    std::uint8_t made[256];
    for (int value = 0; value <= most; ++value) made[value] = code(most - value);
    for (std::int64_t i = 0; i < count; ++i) out[i] = made[codes[i]];
}

template <bool has_weight, bool has_bias>
static WORKBENCH_INLINE void normalised_run(const std::uint8_t* codes, std::int64_t count, float mean, float factor, const float* weight,
                                            const float* bias, std::int64_t step, const RowsOut& to, std::uint8_t* out) {
    for (std::int64_t i = 0; i < count; ++i) {
        float value = (static_cast<float>(codes[i]) - mean) * factor;
        if (has_weight) value = value * weight[step * i];
        if (has_bias) value = value + bias[step * i];
        out[i] = bounded_code(__builtin_rintf(value * to.inverse), to);
    }
}

static WORKBENCH_INLINE void normalised_run(const std::uint8_t* codes, std::int64_t count, float mean, float factor, const float* weight,
                                            const float* bias, std::int64_t step, const RowsOut& to, std::uint8_t* out) {
    if (weight && bias)
        step ? normalised_run<true, true>(codes, count, mean, factor, weight, bias, 1, to, out)
             : normalised_run<true, true>(codes, count, mean, factor, weight, bias, 0, to, out);
    else if (weight)
        step ? normalised_run<true, false>(codes, count, mean, factor, weight, bias, 1, to, out)
             : normalised_run<true, false>(codes, count, mean, factor, weight, bias, 0, to, out);
    else
        normalised_run<false, false>(codes, count, mean, factor, weight, bias, 0, to, out);
}

// `first` is the place among the factors of the row's first one.
static void normalise_row(const std::uint8_t* codes, std::int64_t count, std::int64_t first, const NormOfCodes& of, std::uint8_t* out) {
    std::int64_t sum = 0, squares = 0;
    for (std::int64_t i = 0; i < count;) {
        const std::int64_t end = i + 65536 < count ? i + 65536 : count;
        std::uint32_t part = 0, part_of_squares = 0;
        for (; i < end; ++i) {
            const std::uint32_t code = codes[i];
            part += code, part_of_squares += code * code;
        }
        sum += part, squares += part_of_squares;
    }
    const double many = static_cast<double>(count);
    double mean = static_cast<double>(of.zero), variance;
    if (of.centred) {
        mean = static_cast<double>(sum) / many;
        variance = static_cast<double>(count * squares - sum * sum) / (many * many);
    } else {
        variance = static_cast<double>(squares - 2 * of.zero * sum + count * of.zero * of.zero) / many;
    }
    const float factor = static_cast<float>(of.scale / __builtin_sqrt(variance * (of.scale * of.scale) + of.eps));
    const float middle = static_cast<float>(mean);
    if (of.run == 1) {
        normalised_run(codes, count, middle, factor, of.weight ? of.weight + first : nullptr, of.bias ? of.bias + first : nullptr, 1, of.out,
                       out);
        return;
    }
    for (std::int64_t i = 0; i < count; i += of.run, ++first)
        normalised_run(codes + i, of.run, middle, factor, of.weight ? of.weight + first : nullptr, of.bias ? of.bias + first : nullptr, 0,
                       of.out, out + i);
}
