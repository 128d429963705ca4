// The loops of quantized.inl where four products of bytes go straight into 32 bits, whatever the bytes.
//
// A tile is some outputs by all channels of a panel, sixteen to a register: each step reads its weights once for all
// outputs. Templates are inlined into plain functions, which are compiled for these instructions.

// Sums of four products each, or of two, added where they stand. GCC 12 moves its sums from register to register around the
// functions for these instructions, which takes longer than the products.
static WORKBENCH_INLINE void add_fours(__m512i& sums, __m512i bytes, __m512i weights) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(bytes), "v"(weights));
}
static WORKBENCH_INLINE void add_pairs(__m512i& sums, __m512i values, __m512i weights) {
    asm("vpdpwssd %2, %1, %0" : "+v"(sums) : "v"(values), "v"(weights));
}

// A byte of its own for each channel of a block: as a pair of 16-bit numbers, of which one is zero.
template <int pixels>
static WORKBENCH_INLINE void add_apart(const QuantizedPanel& panel, const std::uint8_t* const* corners,
                                       __m512i (&sums)[pixels][1]) {
    for (std::int64_t step = 0; step < panel.steps; ++step) {
        const __m512i weights =
            _mm512_cvtepi8_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(panel.weights + 16 * step)));
        for (int i = 0; i < pixels; ++i) {
            const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(corners[i] + panel.offsets[step]));
            add_pairs(sums[i][0], _mm512_cvtepu8_epi32(bytes), weights);
        }
    }
}

// Sums of four products for all channels of the panel.
template <int pixels, int blocks>
static WORKBENCH_INLINE void add_steps(const QuantizedPanel& panel, const std::uint8_t* const* corners,
                                       __m512i (&sums)[pixels][blocks]) {
    const std::int8_t* from = panel.weights;
    const std::int32_t* offsets = panel.offsets;
    const std::int32_t* const end = offsets + panel.steps;
    for (; offsets != end; ++offsets, from += 64 * blocks) {
        const std::int64_t offset = *offsets;
        __m512i weights[blocks];
        for (int b = 0; b < blocks; ++b) weights[b] = _mm512_load_si512(from + 64 * b);
        for (int i = 0; i < pixels; ++i) {
            std::int32_t four;
            __builtin_memcpy(&four, corners[i] + offset, 4);
            const __m512i value = _mm512_set1_epi32(four);
            for (int b = 0; b < blocks; ++b) add_fours(sums[i][b], value, weights[b]);
        }
    }
}

template <int pixels, int blocks>
static WORKBENCH_INLINE void tile_sums(const QuantizedPanel& panel, const std::uint8_t* const* corners,
                                       __m512i (&sums)[pixels][blocks]) {
    // `sums` is read by a number that is known late, and so lies in memory: these stay in registers.
    __m512i own[pixels][blocks];
    for (int i = 0; i < pixels; ++i)
        for (int b = 0; b < blocks; ++b) own[i][b] = _mm512_loadu_si512(panel.start + 16 * b);
    bool apart = false;
    if constexpr (blocks == 1) apart = panel.apart;
    if (apart) {
        if constexpr (blocks == 1) add_apart(panel, corners, own);
    } else {
        add_steps(panel, corners, own);
    }
    for (int i = 0; i < pixels; ++i)
        for (int b = 0; b < blocks; ++b) sums[i][b] = own[i][b];
}

static WORKBENCH_INLINE __m512 real_values(const QuantizedPanel& panel, int block, __m512i sums) {
    return _mm512_add_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sums), _mm512_loadu_ps(panel.scale + 16 * block)),
                         _mm512_loadu_ps(panel.shift + 16 * block));
}

// The sums of one output become bytes: to real numbers, to codes, clamp, round to even.
template <int blocks>
static WORKBENCH_INLINE void write_bytes(const QuantizedPanel& panel, const __m512i (&sums)[blocks], std::uint8_t* out) {
    const __m512 high = _mm512_set1_ps(panel.high);
    const __m512 input_scale = _mm512_set1_ps(panel.input_scale);
    const __m512 inverse = _mm512_set1_ps(panel.inverse), zero = _mm512_set1_ps(panel.zero);
    __m512i codes[blocks];
    for (int b = 0; b < blocks; ++b) {
        __m512 value = _mm512_cvtepi32_ps(sums[b]);
        const __m512 scale = _mm512_loadu_ps(panel.scale + 16 * b), shift = _mm512_loadu_ps(panel.shift + 16 * b);
        if (panel.how == Requantization::joined) {
            value = _mm512_roundscale_ps(_mm512_mul_ps(_mm512_add_ps(value, shift), scale), 0);
            value = _mm512_add_ps(value, zero);
        } else {
            value = _mm512_add_ps(_mm512_mul_ps(_mm512_mul_ps(value, input_scale), scale), shift);
            value = _mm512_add_ps(_mm512_mul_ps(value, inverse), zero);
        }
        // What is too small for 32 bits becomes the least number there is, and the least code below.
        codes[b] = _mm512_cvtps_epi32(_mm512_min_ps(value, high));
    }
    if constexpr (blocks == 4) {
        if (panel.channels == 64) {
            // Bytes of a quarter of each block lie together after packing.
            const __m512i packed = _mm512_packus_epi16(_mm512_packs_epi32(codes[0], codes[1]), _mm512_packs_epi32(codes[2], codes[3]));
            const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
            const __m512i least = _mm512_set1_epi8(static_cast<char>(panel.low));
            _mm512_storeu_si512(out, _mm512_max_epu8(_mm512_permutexvar_epi32(order, packed), least));
            return;
        }
    }
    const __m512i low = _mm512_set1_epi32(static_cast<std::int32_t>(panel.low));
    __m128i bytes[blocks];
    for (int b = 0; b < blocks; ++b) bytes[b] = _mm512_cvtepi32_epi8(_mm512_max_epi32(codes[b], low));
    if (panel.channels == 16 * blocks) {
        for (int b = 0; b < blocks; ++b) _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16 * b), bytes[b]);
    } else {
        alignas(16) std::uint8_t buffer[16 * blocks];
        for (int b = 0; b < blocks; ++b) _mm_store_si128(reinterpret_cast<__m128i*>(buffer + 16 * b), bytes[b]);
        __builtin_memcpy(out, buffer, static_cast<std::size_t>(panel.channels));
    }
}

// Which of a block's channels exist.
static WORKBENCH_INLINE __mmask16 there(const QuantizedPanel& panel, int block) {
    const std::int64_t left = panel.channels - 16 * block;
    return static_cast<__mmask16>(left >= 16 ? 0xffff : (1 << left) - 1);
}

template <int blocks>
static WORKBENCH_INLINE void write_floats(const QuantizedPanel& panel, const __m512i (&sums)[blocks], float* out) {
    const __m512 low = _mm512_set1_ps(panel.low);
    for (int b = 0; b < blocks; ++b)
        _mm512_mask_storeu_ps(out + 16 * b, there(panel, b), _mm512_max_ps(real_values(panel, b, sums[b]), low));
}

// Sums of an output that has a scale and a zero point of its own.
template <int blocks>
static WORKBENCH_INLINE void write_own(const QuantizedPanel& panel, const __m512i (&sums)[blocks], float scale,
                                       std::int32_t zero, float* out) {
    const __m512 low = _mm512_set1_ps(panel.low), own = _mm512_set1_ps(scale);
    for (int b = 0; b < blocks; ++b) {
        const __m512i moved = _mm512_mullo_epi32(_mm512_set1_epi32(zero), _mm512_loadu_si512(panel.sums + 16 * b));
        const __m512 factor = _mm512_mul_ps(own, _mm512_loadu_ps(panel.scale + 16 * b));
        const __m512 value = _mm512_add_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_sub_epi32(sums[b], moved)), factor),
                                           _mm512_loadu_ps(panel.shift + 16 * b));
        _mm512_mask_storeu_ps(out + 16 * b, there(panel, b), _mm512_max_ps(value, low));
    }
}

// The sums of output `at` go where they are wanted; outputs lie `step` apart there.
template <int blocks>
static WORKBENCH_INLINE void finish(const QuantizedPanel& panel, const __m512i (&sums)[blocks], const QuantizedTarget& target,
                                    std::int64_t at, std::int64_t step) {
    if (target.bytes && panel.how != Requantization::whole) return write_bytes(panel, sums, target.bytes + at * step);
    if (!target.bytes && !target.scales) return write_floats(panel, sums, target.floats + at * step);
    if (!target.bytes) return write_own(panel, sums, target.scales[at], target.zeros[at], target.floats + at * step);
    std::int32_t kept[16 * blocks];
    for (int b = 0; b < blocks; ++b) _mm512_storeu_si512(kept + 16 * b, sums[b]);
    write_whole(panel, kept, target.bytes + at * step);
}

template <int blocks>
static WORKBENCH_INLINE void pooled(const QuantizedPlane& plane, const QuantizedPanel& panel, std::uint8_t* out) {
    for (std::int64_t y = 0; y + 2 <= plane.height; y += 2) {
        const std::uint8_t* corner = plane.image + y * plane.row_step;
        for (std::int64_t x = 0; x + 2 <= plane.width; x += 2, corner += 2 * plane.pixel_step, out += plane.channels) {
            const std::uint8_t* corners[4] = {corner, corner + plane.pixel_step, corner + plane.row_step,
                                              corner + plane.row_step + plane.pixel_step};
            __m512i sums[4][blocks];
            tile_sums(panel, corners, sums);
            for (int b = 0; b < blocks; ++b)
                sums[0][b] = _mm512_max_epi32(_mm512_max_epi32(sums[0][b], sums[1][b]),
                                              _mm512_max_epi32(sums[2][b], sums[3][b]));
            finish(panel, sums[0], {out, nullptr, nullptr, nullptr}, 0, 0);
        }
    }
}

// Up to `pixels` outputs from output `at` on, which is (y, x), in row-major order; these are moved past them.
template <int pixels, int blocks>
static WORKBENCH_INLINE void one_tile(const QuantizedPlane& plane, const QuantizedPanel& panel, std::int64_t& y,
                                      std::int64_t& x, std::int64_t at, std::int64_t count, const QuantizedTarget& target) {
    const std::uint8_t* corners[pixels];
    for (int k = 0; k < pixels; ++k) {
        corners[k] = plane.image + y * plane.row_step + x * plane.pixel_step;
        if (k + 1 < pixels && k + 1 < count && ++x == plane.width) x = 0, ++y;
    }
    if (++x == plane.width) x = 0, ++y;
    __m512i sums[pixels][blocks];
    tile_sums(panel, corners, sums);
    for (int k = 0; k < pixels && k < count; ++k) finish(panel, sums[k], target, at + k, plane.channels);
}

template <int blocks>
static WORKBENCH_INLINE void outputs(const QuantizedPlane& plane, const QuantizedPanel& panel, std::int64_t first,
                                     std::int64_t last, const QuantizedTarget& target) {
    constexpr int pixels = 4;
    std::int64_t y = first / plane.width, x = first % plane.width;
    for (std::int64_t i = first; i < last; i += pixels)
        if (last - i == 1)  // one row by a matrix: the others would cost as much
            one_tile<1, blocks>(plane, panel, y, x, i, 1, target);
        else
            one_tile<pixels, blocks>(plane, panel, y, x, i, last - i, target);
}

// The largest of each 2 x 2 outputs. Scales are positive, so the largest sum is the largest result.
static void quantized_pooled(const QuantizedPlane& plane, const QuantizedPanel& panel, std::uint8_t* out) {
    switch (panel.blocks) {
        case 1: return pooled<1>(plane, panel, out);
        case 2: return pooled<2>(plane, panel, out);
        case 3: return pooled<3>(plane, panel, out);
        default: return pooled<4>(plane, panel, out);
    }
}

// Outputs first..last of the plane in row-major order.
static void quantized_outputs(const QuantizedPlane& plane, const QuantizedPanel& panel, std::int64_t first,
                              std::int64_t last, const QuantizedTarget& target) {
    switch (panel.blocks) {
        case 1: return outputs<1>(plane, panel, first, last, target);
        case 2: return outputs<2>(plane, panel, first, last, target);
        case 3: return outputs<3>(plane, panel, first, last, target);
        default: return outputs<4>(plane, panel, first, last, target);
    }
}

#include "quantized_tiles.inl"
