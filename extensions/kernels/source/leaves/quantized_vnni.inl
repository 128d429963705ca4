// The loops of quantized.inl where four products of bytes go straight into 32 bits, whatever the bytes.
//
// A tile is some outputs by all channels of a panel, sixteen to a register: each step reads its weights once for all
// outputs. Its sums lie in memory, [outputs][blocks], until they are finished.

// How many outputs a tile has: as many as leave registers for the weights, and for where outputs lie.
template <int blocks>
constexpr int tile_outputs_of = blocks == 4 ? 6 : 8;

// Sums of four products each, or of two, added where they stand. GCC 12 moves its sums from register to register around the
// functions for these instructions, and around these wherever other code stands beside, which takes longer than the products:
// what adds up a tile is a function of its own.
static WORKBENCH_INLINE void add_fours(__m512i& sums, __m512i bytes, __m512i weights) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(bytes), "v"(weights));
}
static WORKBENCH_INLINE void add_pairs(__m512i& sums, __m512i values, __m512i weights) {
    asm("vpdpwssd %2, %1, %0" : "+v"(sums) : "v"(values), "v"(weights));
}

// A byte of its own for each channel of a block: as a pair of 16-bit numbers, of which one is zero.
template <int outputs>
static __attribute__((noinline)) void add_apart(const QuantizedPanel& panel, const std::uint8_t* const* corners, __m512i* sums) {
    __m512i own[outputs];
#pragma GCC unroll 8
    for (int i = 0; i < outputs; ++i) own[i] = _mm512_loadu_si512(panel.start);
    const std::int8_t* from = panel.weights;
    const std::int32_t* const end = panel.offsets + panel.steps;
    for (const std::int32_t* offsets = panel.offsets; offsets != end; ++offsets, from += 16) {
        const std::int64_t offset = *offsets;
        const __m512i weights = _mm512_cvtepi8_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(from)));
#pragma GCC unroll 8
        for (int i = 0; i < outputs; ++i) {
            const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(corners[i] + offset));
            add_pairs(own[i], _mm512_cvtepu8_epi32(bytes), weights);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < outputs; ++i) _mm512_store_si512(sums + i, own[i]);
}

// Sums of four products for all channels of the panel. A line of `later` is fetched in each step, which other tiles will read.
template <int outputs, int blocks>
static __attribute__((noinline)) void add_steps(const QuantizedPanel& panel, const std::uint8_t* const* corners,
                                                const std::int8_t* later, __m512i* sums) {
    __m512i own[outputs][blocks];
#pragma GCC unroll 8
    for (int i = 0; i < outputs; ++i)
#pragma GCC unroll 4
        for (int b = 0; b < blocks; ++b) own[i][b] = _mm512_loadu_si512(panel.start + 16 * b);
    const std::int8_t* from = panel.weights;
    const std::int32_t* const end = panel.offsets + panel.steps;
    for (const std::int32_t* offsets = panel.offsets; offsets != end; ++offsets, from += 64 * blocks, later += 64) {
        const std::int64_t offset = *offsets;
        __builtin_prefetch(later, 0, 2);
        __m512i weights[blocks];
#pragma GCC unroll 4
        for (int b = 0; b < blocks; ++b) weights[b] = _mm512_load_si512(from + 64 * b);
#pragma GCC unroll 8
        for (int i = 0; i < outputs; ++i) {
            std::int32_t four;
            __builtin_memcpy(&four, corners[i] + offset, 4);
            const __m512i value = _mm512_set1_epi32(four);
#pragma GCC unroll 4
            for (int b = 0; b < blocks; ++b) add_fours(own[i][b], value, weights[b]);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < outputs; ++i)
#pragma GCC unroll 4
        for (int b = 0; b < blocks; ++b) _mm512_store_si512(sums + i * blocks + b, own[i][b]);
}

// Sums of `count` outputs, one to `most`.
template <int most, int blocks>
static WORKBENCH_INLINE void tile_sums(const QuantizedPanel& panel, const std::uint8_t* const* corners, std::int64_t count,
                                       const std::int8_t* later, __m512i* sums) {
    if constexpr (most > 1)
        if (count < most) return tile_sums<most - 1, blocks>(panel, corners, count, later, sums);
    if constexpr (blocks == 1)
        if (panel.apart) return add_apart<most>(panel, corners, sums);
    add_steps<most, blocks>(panel, corners, later, sums);
}

static WORKBENCH_INLINE __m512 real_values(const QuantizedPanel& panel, int block, __m512i sums) {
    return _mm512_add_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sums), _mm512_loadu_ps(panel.scale + 16 * block)),
                         _mm512_loadu_ps(panel.shift + 16 * block));
}

// Codes of sums, not above the largest number of 16 bits where they may be far too large; what is far too small becomes the least
// number of 32 bits.
template <bool joined, bool bounded, bool moved>
static WORKBENCH_INLINE __m512i codes_of(const QuantizedPanel& panel, __m512i sums, __m512 scale, __m512 shift) {
    __m512 value = _mm512_cvtepi32_ps(sums);
    if constexpr (joined) {
        value = _mm512_mul_ps(_mm512_add_ps(value, shift), scale);
    } else {
        value = _mm512_add_ps(_mm512_mul_ps(_mm512_mul_ps(value, _mm512_set1_ps(panel.input_scale)), scale), shift);
        value = _mm512_mul_ps(value, _mm512_set1_ps(panel.inverse));
        if (moved) value = _mm512_add_ps(value, _mm512_set1_ps(panel.zero));
    }
    if (!bounded) value = _mm512_min_ps(value, _mm512_set1_ps(32767.f));
    return _mm512_cvtps_epi32(value);  // rounds half to even
}

// Sums of `count` outputs become bytes: to real numbers, to codes, round to even, clamp. The zero point is `moved` or 0.
template <int blocks, bool joined, bool bounded, bool moved>
static WORKBENCH_INLINE void write_codes(const QuantizedPanel& panel, const __m512i* sums, std::int64_t count, std::uint8_t* out,
                                         std::int64_t step) {
    __m512 scale[blocks], shift[blocks];
    for (int b = 0; b < blocks; ++b) scale[b] = _mm512_loadu_ps(panel.scale + 16 * b), shift[b] = _mm512_loadu_ps(panel.shift + 16 * b);
    // Where the zero point is joined to a sum of real numbers it is rounded with it; else it comes after.
    const auto packed = [zero = _mm512_set1_epi16(static_cast<short>(panel.zero))](__m512i first, __m512i second) {
        const __m512i both = _mm512_packs_epi32(first, second);
        return joined && moved ? _mm512_adds_epi16(both, zero) : both;
    };
    const __m512i least = _mm512_set1_epi8(static_cast<char>(static_cast<std::int32_t>(panel.low)));
    const __m512i most = _mm512_set1_epi8(static_cast<char>(static_cast<std::int32_t>(panel.high)));
    // Bytes of a quarter of each block lie together after packing.
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __mmask64 there = panel.channels == 64 ? ~__mmask64{0} : (__mmask64{1} << panel.channels) - 1;
    for (std::int64_t i = 0; i < count; ++i, sums += blocks, out += step) {
        __builtin_prefetch(out + 32 * step, 1);
        __m512i codes[4];
        for (int b = 0; b < 4; ++b)
            codes[b] = b < blocks ? codes_of<joined, bounded, moved>(panel, _mm512_load_si512(sums + b), scale[b % blocks], shift[b % blocks]) : codes[b - 1];
        const __m512i lower = packed(codes[0], codes[1]), upper = blocks < 3 ? lower : packed(codes[2], codes[3]);
        const __m512i bytes = _mm512_permutexvar_epi32(order, _mm512_packus_epi16(lower, upper));
        _mm512_mask_storeu_epi8(out, there, _mm512_min_epu8(_mm512_max_epu8(bytes, least), most));
    }
}

template <int blocks>
static WORKBENCH_INLINE void write_bytes(const QuantizedPanel& panel, const __m512i* sums, std::int64_t count, std::uint8_t* out,
                                         std::int64_t step) {
    if (panel.how == Requantization::joined)
        write_codes<blocks, true, false, true>(panel, sums, count, out, step);
    else if (!panel.bounded)
        write_codes<blocks, false, false, true>(panel, sums, count, out, step);
    else if (panel.zero != 0.f)
        write_codes<blocks, false, true, true>(panel, sums, count, out, step);
    else
        write_codes<blocks, false, true, false>(panel, sums, count, out, step);
}

// Which of a block's channels exist.
static WORKBENCH_INLINE __mmask16 there(const QuantizedPanel& panel, int block) {
    const std::int64_t left = panel.channels - 16 * block;
    return static_cast<__mmask16>(left >= 16 ? 0xffff : (1 << left) - 1);
}

template <int blocks>
static WORKBENCH_INLINE void write_floats(const QuantizedPanel& panel, const __m512i* sums, float* out) {
    const __m512 low = _mm512_set1_ps(panel.low);
    for (int b = 0; b < blocks; ++b)
        _mm512_mask_storeu_ps(out + 16 * b, there(panel, b), _mm512_max_ps(real_values(panel, b, sums[b]), low));
}

// Sums of an output that has a scale and a zero point of its own.
template <int blocks>
static WORKBENCH_INLINE void write_own(const QuantizedPanel& panel, const __m512i* sums, float scale, std::int32_t zero, float* out) {
    const __m512 low = _mm512_set1_ps(panel.low), own = _mm512_set1_ps(scale);
    for (int b = 0; b < blocks; ++b) {
        const __m512i moved = _mm512_mullo_epi32(_mm512_set1_epi32(zero), _mm512_loadu_si512(panel.sums + 16 * b));
        const __m512 factor = _mm512_mul_ps(own, _mm512_loadu_ps(panel.scale + 16 * b));
        const __m512 value = _mm512_add_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_sub_epi32(sums[b], moved)), factor),
                                           _mm512_loadu_ps(panel.shift + 16 * b));
        _mm512_mask_storeu_ps(out + 16 * b, there(panel, b), _mm512_max_ps(value, low));
    }
}

// The sums of `count` outputs from `at` on go where they are wanted; outputs lie `step` apart there.
template <int blocks>
static WORKBENCH_INLINE void finish(const QuantizedPanel& panel, const __m512i* sums, std::int64_t count,
                                    const QuantizedTarget& target, std::int64_t at, std::int64_t step) {
    if (target.bytes && panel.how != Requantization::whole) return write_bytes<blocks>(panel, sums, count, target.bytes + at * step, step);
    for (; count > 0; --count, ++at, sums += blocks)
        if (target.bytes)
            write_whole(panel, reinterpret_cast<const std::int32_t*>(sums), target.bytes + at * step);
        else if (target.scales)
            write_own<blocks>(panel, sums, target.scales[at], target.zeros[at], target.floats + at * step);
        else
            write_floats<blocks>(panel, sums, target.floats + at * step);
}

template <int blocks>
static WORKBENCH_INLINE void pooled(const QuantizedPlane& plane, const QuantizedPanel& panel, std::uint8_t* out) {
    for (std::int64_t y = 0; y + 2 <= plane.height; y += 2) {
        const std::uint8_t* corner = plane.image + y * plane.row_step;
        for (std::int64_t x = 0; x + 2 <= plane.width; x += 2, corner += 2 * plane.pixel_step, out += plane.channels) {
            const std::uint8_t* corners[4] = {corner, corner + plane.pixel_step, corner + plane.row_step,
                                              corner + plane.row_step + plane.pixel_step};
            __m512i sums[4 * blocks];
            tile_sums<4, blocks>(panel, corners, 4, panel.weights, sums);
            for (int b = 0; b < blocks; ++b)
                sums[b] = _mm512_max_epi32(_mm512_max_epi32(sums[b], sums[blocks + b]),
                                           _mm512_max_epi32(sums[2 * blocks + b], sums[3 * blocks + b]));
            finish<blocks>(panel, sums, 1, {out, nullptr, nullptr, nullptr}, 0, 0);
        }
    }
}

template <int blocks>
static WORKBENCH_INLINE void outputs(const QuantizedPlane& plane, const QuantizedPanel& panel, std::int64_t first,
                                     std::int64_t last, const QuantizedTarget& target) {
    constexpr int most = tile_outputs_of<blocks>;
    std::int64_t y = first / plane.width, x = first % plane.width;
    const std::uint8_t* corner = plane.image + y * plane.row_step + x * plane.pixel_step;
    // The first tiles fetch the weights that are read after these; then those that are read here are asked for, which are there.
    std::int64_t fetched = 0;
    for (std::int64_t at = first; at < last; at += most) {
        const std::int64_t count = last - at < most ? last - at : most;
        const std::uint8_t* corners[most];
        for (std::int64_t k = 0; k < count; ++k, corner += plane.pixel_step) {
            if (x == plane.width) x = 0, ++y, corner = plane.image + y * plane.row_step;
            corners[k] = corner, ++x;
        }
        __m512i sums[most * blocks];
        tile_sums<most, blocks>(panel, corners, count, fetched < plane.ahead.bytes ? plane.ahead.weights + fetched : panel.weights, sums);
        fetched += 64 * panel.steps;
        finish<blocks>(panel, sums, count, target, at, plane.channels);
    }
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
