// Integer convolution and matrix product: unsigned 8-bit activations, signed 8-bit weights, 32-bit sums.
// Included once per instruction set; see dispatch.hpp.

#if defined(WORKBENCH_VNNI)
#include "quantized_vnni.inl"
#else

// A tile is four outputs by the sixteen channels of a panel. The products of a group of steps are added up in 16 bits before
// they go into 32-bit sums; the packing groups steps so that this cannot overflow while no byte exceeds 127. Rows with
// larger bytes are summed in two exact parts: the low seven bits, and 128 times the top one.

enum class Part { whole, low_bits, top_bit };

#if defined(WORKBENCH_AVX2)

static WORKBENCH_INLINE __m256i activation(const std::uint8_t* bytes, Part part) {
    std::int32_t four;
    __builtin_memcpy(&four, bytes, 4);
    __m256i value = _mm256_set1_epi32(four);
    if (part == Part::low_bits) value = _mm256_and_si256(value, _mm256_set1_epi8(127));
    if (part == Part::top_bit) value = _mm256_and_si256(_mm256_srli_epi16(value, 7), _mm256_set1_epi8(1));
    return value;
}

static WORKBENCH_INLINE void add_products(const QuantizedPanel& panel, const std::uint8_t* const* pixels, Part part,
                                          __m256i (&sums)[4][2]) {
    const __m256i ones = _mm256_set1_epi16(1);
    const __m256i* weights = reinterpret_cast<const __m256i*>(panel.weights);
    const std::int32_t* offsets = panel.offsets;
    for (std::int64_t step = 0; step < panel.steps; step += steps_together) {
        for (int i = 0; i < 4; ++i) {
            __m256i values[steps_together];
            for (int k = 0; k < steps_together; ++k) values[k] = activation(pixels[i] + offsets[k], part);
            for (int half = 0; half < 2; ++half) {
                __m256i products = _mm256_maddubs_epi16(values[0], _mm256_loadu_si256(weights + half));
                for (int k = 1; k < steps_together; ++k)
                    products = _mm256_add_epi16(
                        products, _mm256_maddubs_epi16(values[k], _mm256_loadu_si256(weights + 2 * k + half)));
                products = _mm256_madd_epi16(products, ones);
                if (part == Part::top_bit) products = _mm256_slli_epi32(products, 7);
                sums[i][half] = _mm256_add_epi32(sums[i][half], products);
            }
        }
        weights += 2 * steps_together;
        offsets += steps_together;
    }
}

// A byte of its own for each channel of a block: as a pair of 16-bit numbers, of which one is zero.
static WORKBENCH_INLINE void add_apart(const QuantizedPanel& panel, const std::uint8_t* const* pixels,
                                       __m256i (&sums)[4][2]) {
    for (std::int64_t step = 0; step < panel.steps; ++step)
        for (int half = 0; half < 2; ++half) {
            const __m256i weights = _mm256_cvtepi8_epi32(
                _mm_loadl_epi64(reinterpret_cast<const __m128i*>(panel.weights + 16 * step + 8 * half)));
            for (int i = 0; i < 4; ++i) {
                const __m256i values = _mm256_cvtepu8_epi32(
                    _mm_loadl_epi64(reinterpret_cast<const __m128i*>(pixels[i] + panel.offsets[step] + 8 * half)));
                sums[i][half] = _mm256_add_epi32(sums[i][half], _mm256_madd_epi16(values, weights));
            }
        }
}

static WORKBENCH_INLINE void tile_sums(const QuantizedPanel& panel, const std::uint8_t* const* pixels, bool wide,
                                       __m256i (&sums)[4][2]) {
    for (int i = 0; i < 4; ++i)
        for (int half = 0; half < 2; ++half)
            sums[i][half] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(panel.start + 8 * half));
    if (panel.apart) {
        add_apart(panel, pixels, sums);
    } else if (wide) {
        add_products(panel, pixels, Part::low_bits, sums);
        add_products(panel, pixels, Part::top_bit, sums);
    } else {
        add_products(panel, pixels, Part::whole, sums);
    }
}

// Sixteen sums of one output become bytes: scale, shift, clamp, round to even, add the zero point.
static WORKBENCH_INLINE void write_bytes(const QuantizedPanel& panel, __m256i first, __m256i second, std::uint8_t* out) {
    __m256i halves[2] = {first, second};
    for (int half = 0; half < 2; ++half) {
        __m256 value = _mm256_cvtepi32_ps(halves[half]);
        value = _mm256_add_ps(_mm256_mul_ps(value, _mm256_loadu_ps(panel.scale + 8 * half)),
                              _mm256_loadu_ps(panel.shift + 8 * half));
        value = _mm256_max_ps(_mm256_min_ps(value, _mm256_set1_ps(panel.high)), _mm256_set1_ps(panel.low));
        halves[half] = _mm256_add_epi32(_mm256_cvtps_epi32(value), _mm256_set1_epi32(panel.zero_point));
    }
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(halves[0], halves[1]), 0xd8);
    const __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    if (panel.channels == 16) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out), bytes);
    } else {
        alignas(16) std::uint8_t buffer[16];
        _mm_store_si128(reinterpret_cast<__m128i*>(buffer), bytes);
        for (std::int64_t i = 0; i < panel.channels; ++i) out[i] = buffer[i];
    }
}

static WORKBENCH_INLINE void write_floats(const QuantizedPanel& panel, __m256i first, __m256i second, float* out) {
    const __m256i halves[2] = {first, second};
    float buffer[16];
    for (int half = 0; half < 2; ++half) {
        __m256 value = _mm256_cvtepi32_ps(halves[half]);
        value = _mm256_add_ps(_mm256_mul_ps(value, _mm256_loadu_ps(panel.scale + 8 * half)),
                              _mm256_loadu_ps(panel.shift + 8 * half));
        _mm256_storeu_ps(buffer + 8 * half, _mm256_max_ps(value, _mm256_set1_ps(panel.low)));
    }
    for (std::int64_t i = 0; i < panel.channels; ++i) out[i] = buffer[i];
}

static WORKBENCH_INLINE __m256i larger(__m256i a, __m256i b) { return _mm256_max_epi32(a, b); }
typedef __m256i Sums;

#else

struct Sums {
    std::int32_t lane[8];
};

static WORKBENCH_INLINE void tile_sums(const QuantizedPanel& panel, const std::uint8_t* const* pixels, bool,
                                       Sums (&sums)[4][2]) {
    for (int i = 0; i < 4; ++i)
        for (int c = 0; c < 16; ++c) {
            std::int32_t sum = panel.start[c];
            for (std::int64_t step = 0; step < panel.steps; ++step)
                if (panel.apart)
                    sum += pixels[i][panel.offsets[step] + c] * panel.weights[step * 16 + c];
                else
                    for (int k = 0; k < 4; ++k)
                        sum += pixels[i][panel.offsets[step] + k] * panel.weights[step * 64 + c * 4 + k];
            sums[i][c / 8].lane[c % 8] = sum;
        }
}

static WORKBENCH_INLINE void write_bytes(const QuantizedPanel& panel, Sums first, Sums second, std::uint8_t* out) {
    for (std::int64_t c = 0; c < panel.channels; ++c) {
        float value = static_cast<float>((c < 8 ? first : second).lane[c % 8]) * panel.scale[c] + panel.shift[c];
        value = value < panel.high ? value : panel.high;
        value = value > panel.low ? value : panel.low;
        out[c] = static_cast<std::uint8_t>(static_cast<std::int32_t>(__builtin_nearbyintf(value)) + panel.zero_point);
    }
}

static WORKBENCH_INLINE void write_floats(const QuantizedPanel& panel, Sums first, Sums second, float* out) {
    for (std::int64_t c = 0; c < panel.channels; ++c) {
        const float value = static_cast<float>((c < 8 ? first : second).lane[c % 8]) * panel.scale[c] + panel.shift[c];
        out[c] = value > panel.low ? value : panel.low;
    }
}

static WORKBENCH_INLINE Sums larger(Sums a, Sums b) {
    for (int i = 0; i < 8; ++i) a.lane[i] = a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i];
    return a;
}

#endif

// The largest of each 2 x 2 outputs. Scales are positive, so the largest sum is the largest result.
static void quantized_pooled(const QuantizedPlane& plane, const QuantizedPanel& panel, std::uint8_t* out) {
    for (std::int64_t y = 0; y + 2 <= plane.height; y += 2) {
        const bool wide = plane.wide_rows[y] | plane.wide_rows[y + 1];
        for (std::int64_t x = 0; x + 2 <= plane.width; x += 2, out += plane.channels) {
            const std::uint8_t* corner = plane.image + y * plane.row_step + x * plane.pixel_step;
            const std::uint8_t* pixels[4] = {corner, corner + plane.pixel_step, corner + plane.row_step,
                                             corner + plane.row_step + plane.pixel_step};
            Sums sums[4][2];
            tile_sums(panel, pixels, wide, sums);
            write_bytes(panel, larger(larger(sums[0][0], sums[1][0]), larger(sums[2][0], sums[3][0])),
                        larger(larger(sums[0][1], sums[1][1]), larger(sums[2][1], sums[3][1])), out);
        }
    }
}

// Outputs first..last of the plane in row-major order, to bytes or (when `bytes` is null) to floats.
static void quantized_outputs(const QuantizedPlane& plane, const QuantizedPanel& panel, std::int64_t first,
                              std::int64_t last, std::uint8_t* bytes, float* floats) {
    for (std::int64_t i = first; i < last; i += 4) {
        const std::uint8_t* pixels[4];
        bool wide = false;
        for (int k = 0; k < 4; ++k) {
            const std::int64_t at = i + k < last ? i + k : last - 1;
            const std::int64_t y = at / plane.width, x = at % plane.width;
            pixels[k] = plane.image + y * plane.row_step + x * plane.pixel_step;
            wide |= plane.wide_rows[y] != 0;
        }
        Sums sums[4][2];
        tile_sums(panel, pixels, wide, sums);
        for (int k = 0; k < 4 && i + k < last; ++k) {
            if (bytes)
                write_bytes(panel, sums[k][0], sums[k][1], bytes + (i + k) * plane.channels);
            else
                write_floats(panel, sums[k][0], sums[k][1], floats + (i + k) * plane.channels);
        }
    }
}

// Whether any of `count` bytes exceeds 127.
static bool any_wide(const std::uint8_t* bytes, std::int64_t count) {
    std::uint8_t all = 0;
    for (std::int64_t i = 0; i < count; ++i) all |= bytes[i];
    return all > 127;
}

#endif
