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
