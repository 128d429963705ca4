// Between floats and codes. Included once per instruction set; see dispatch.hpp. Compiled without contraction, so that
// a product and a sum round one after the other, as they do in NumPy.

// clamp(rne(x / scale + zero)); NaN becomes the highest code.
template <typename Code>
static WORKBENCH_INLINE void quantize_any(const float* x, const Grid& grid, std::int64_t count, float low, float high,
                                          Code* out) {
    if (grid.step) {
        for (std::int64_t i = 0; i < count; ++i) {
            float value = __builtin_rintf(x[i] * grid.inverses[i] + grid.zeros[i]);
            value = value < high ? value : high;
            out[i] = static_cast<Code>(static_cast<std::int32_t>(value > low ? value : low));
        }
        return;
    }
    const float inverse = grid.inverses[0], zero = grid.zeros[0];
    for (std::int64_t i = 0; i < count; ++i) {
        // Of one scale the product is not rounded before the zero point is added, as in PyTorch; of channels it is.
        float value = __builtin_rintf(__builtin_fmaf(x[i], inverse, zero));
        value = value < high ? value : high;
        out[i] = static_cast<Code>(static_cast<std::int32_t>(value > low ? value : low));
    }
}

static void quantize_unsigned(const float* x, const Grid& grid, std::int64_t count, float low, float high,
                              std::uint8_t* out) {
    quantize_any(x, grid, count, low, high, out);
}

static void quantize_signed(const float* x, const Grid& grid, std::int64_t count, float low, float high,
                            std::int8_t* out) {
    quantize_any(x, grid, count, low, high, out);
}

// Few channels, `plane` values apart, become the bytes of pixels: by words, of which each hides what the one before had too many.
template <typename Code>
static WORKBENCH_INLINE void quantize_any_pixels(const float* x, std::int64_t plane, std::int64_t channels, const Grid& grid,
                                                 std::int64_t count, float low, float high, Code* out) {
    constexpr std::int64_t together = 512;
    Code codes[4][together] = {};
    std::uint32_t words[together];
    for (std::int64_t first = 0; first < count; first += together) {
        const std::int64_t here = count - first < together ? count - first : together;
        for (std::int64_t c = 0; c < channels; ++c) quantize_any(x + c * plane + first, grid, here, low, high, codes[c]);
        for (std::int64_t i = 0; i < here; ++i) {
            words[i] = 0;
            for (int c = 0; c < 4; ++c) words[i] |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(codes[c][i])) << 8 * c;
        }
        Code* to = out + first * channels;
        for (std::int64_t i = 0; i + 1 < here; ++i, to += channels) __builtin_memcpy(to, words + i, 4);
        __builtin_memcpy(to, words + here - 1, static_cast<std::size_t>(channels));
    }
}

static void quantize_unsigned_pixels(const float* x, std::int64_t plane, std::int64_t channels, const Grid& grid,
                                     std::int64_t count, float low, float high, std::uint8_t* out) {
    quantize_any_pixels(x, plane, channels, grid, count, low, high, out);
}

static void quantize_signed_pixels(const float* x, std::int64_t plane, std::int64_t channels, const Grid& grid, std::int64_t count,
                                   float low, float high, std::int8_t* out) {
    quantize_any_pixels(x, plane, channels, grid, count, low, high, out);
}

// (code - zero) * scale
template <typename Code>
static WORKBENCH_INLINE void dequantize_any(const Code* codes, const Grid& grid, std::int64_t count, float* out) {
    if (grid.step) {
        for (std::int64_t i = 0; i < count; ++i)
            out[i] = (static_cast<float>(codes[i]) - grid.zeros[i]) * grid.scales[i];
        return;
    }
    const float scale = grid.scales[0], zero = grid.zeros[0];
    for (std::int64_t i = 0; i < count; ++i) out[i] = (static_cast<float>(codes[i]) - zero) * scale;
}

static void dequantize_unsigned(const std::uint8_t* codes, const Grid& grid, std::int64_t count, float* out) {
    dequantize_any(codes, grid, count, out);
}

static void dequantize_signed(const std::int8_t* codes, const Grid& grid, std::int64_t count, float* out) {
    dequantize_any(codes, grid, count, out);
}

// (clamp(rne(x / scale) + zero) - zero) * scale: what quantization does to a value. NaN becomes the lowest code.
static void fake_quantize_run(const float* x, const Grid& grid, std::int64_t count, float low, float high, float* out) {
    const std::int64_t step = grid.step;
    if (step) {
        for (std::int64_t i = 0; i < count; ++i) {
            float code = __builtin_rintf(x[i] * grid.inverses[i]) + grid.zeros[i];
            code = code > low ? code : low;
            out[i] = ((code < high ? code : high) - grid.zeros[i]) * grid.scales[i];
        }
        return;
    }
    const float inverse = grid.inverses[0], zero = grid.zeros[0], scale = grid.scales[0];
    for (std::int64_t i = 0; i < count; ++i) {
        float code = __builtin_rintf(x[i] * inverse) + zero;
        code = code > low ? code : low;
        out[i] = ((code < high ? code : high) - zero) * scale;
    }
}

// The gradient passes where the rounded value lay on the grid.
static void fake_quantize_gradient_run(const float* g, const float* x, const Grid& grid, std::int64_t count, float low,
                                       float high, float* out) {
    const std::int64_t step = grid.step;
    if (step) {
        for (std::int64_t i = 0; i < count; ++i) {
            const float code = __builtin_rintf(x[i] * grid.inverses[i]) + grid.zeros[i];
            out[i] = (code >= low) & (code <= high) ? g[i] : 0.f;
        }
        return;
    }
    const float inverse = grid.inverses[0], zero = grid.zeros[0];
    for (std::int64_t i = 0; i < count; ++i) {
        const float code = __builtin_rintf(x[i] * inverse) + zero;
        out[i] = (code >= low) & (code <= high) ? g[i] : 0.f;
    }
}

// A row times a factor, rounded: as `fake_quantize_run` of the product, which is rounded to a float before.
static void fake_quantize_scaled_run(const float* x, float factor, const Grid& grid, std::int64_t count, float low, float high,
                                     float* out) {
    const float inverse = grid.inverses[0], zero = grid.zeros[0], scale = grid.scales[0];
    for (std::int64_t i = 0; i < count; ++i) {
        float code = __builtin_rintf(x[i] * factor * inverse) + zero;
        code = code > low ? code : low;
        out[i] = ((code < high ? code : high) - zero) * scale;
    }
}

// Its gradients: that of the row is written, and that of the factor returned.
static double fake_quantize_scaled_gradient_run(const float* g, const float* x, float factor, const Grid& grid, std::int64_t count,
                                                float low, float high, float* out) {
    constexpr std::int64_t chunk = 512, width = 16;
    const float inverse = grid.inverses[0], zero = grid.zeros[0];
    float products[chunk];
    double total = 0;
    for (std::int64_t start = 0; start < count; start += chunk, g += chunk, x += chunk, out += chunk) {
        const std::int64_t length = count - start < chunk ? count - start : chunk;
        for (std::int64_t i = 0; i < length; ++i) {
            const float code = __builtin_rintf(x[i] * factor * inverse) + zero;
            const float passed = (code >= low) & (code <= high) ? g[i] : 0.f;
            products[i] = passed * x[i];
            out[i] = passed * factor;
        }
        // A lane adds few of them before doubles take over.
        floats8 first = spread(0.f), second = spread(0.f);
        std::int64_t i = 0;
        for (; i + width <= length; i += width) first += load(products + i), second += load(products + i + 8);
        float rest = 0;
        for (; i < length; ++i) rest += products[i];
        total += static_cast<double>(lanes_sum(first + second)) + static_cast<double>(rest);
    }
    return total;
}
