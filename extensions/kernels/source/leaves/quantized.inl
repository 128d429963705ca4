// Integer convolution and matrix product: unsigned 8-bit activations, signed 8-bit weights, 32-bit sums.
// Included once per instruction set; see dispatch.hpp.

// A sum times a multiplier of 31 bits, rounded, and shifted to the right, rounded again: as phones do it (QNNPACK's q31).
static WORKBENCH_INLINE std::int32_t by_whole_numbers(std::int32_t sum, std::int32_t multiplier, std::int32_t right) {
    std::int64_t wide = sum;
    if (right < 0) {  // a multiplier above 1
        wide = right < -31 ? (wide > 0 ? INT32_MAX : wide < 0 ? INT32_MIN : 0) : wide * (std::int64_t{1} << -right);
        wide = wide > INT32_MAX ? INT32_MAX : wide < INT32_MIN ? INT32_MIN : wide;
        right = 0;
    }
    const std::int32_t product = static_cast<std::int32_t>((wide * multiplier + 0x40000000) >> 31);
    const std::int32_t mask = static_cast<std::int32_t>((std::int64_t{1} << right) - 1);
    const std::int32_t remainder = (product & mask) - (product < 0);
    return (product >> right) + (remainder > (mask >> 1));
}

static void write_whole(const QuantizedPanel& panel, const std::int32_t* sums, std::uint8_t* out) {
    const std::int32_t low = static_cast<std::int32_t>(panel.low), high = static_cast<std::int32_t>(panel.high);
    for (std::int64_t c = 0; c < panel.channels; ++c) {
        const std::int64_t code =
            std::int64_t{by_whole_numbers(sums[c], panel.multiplier[c], panel.right[c])} + panel.zero_point;
        out[c] = static_cast<std::uint8_t>(code < low ? low : code > high ? high : code);
    }
}

#if defined(WORKBENCH_VNNI)
#include "quantized_vnni.inl"
#else

// Sums of an output that has a scale and a zero point of its own.
static void write_own(const QuantizedPanel& panel, const std::int32_t* sums, float scale, std::int32_t zero, float* out) {
    for (std::int64_t c = 0; c < panel.channels; ++c) {
        const float value = static_cast<float>(sums[c] - zero * panel.sums[c]) * (scale * panel.scale[c]) + panel.shift[c];
        out[c] = value > panel.low ? value : panel.low;
    }
}

// A tile is four outputs by the sixteen channels of a panel. The products of a group of steps are added up in 16 bits before
// they go into 32-bit sums; the packing groups steps so that this cannot overflow while no byte exceeds 127. Rows with
// larger bytes are summed in two exact parts: the low seven bits, and 128 times the top one.

struct FourBytes {
    std::uint8_t bytes[4];
} __attribute__((may_alias));

#if defined(WORKBENCH_AVX2)

static WORKBENCH_INLINE __m256i four_bytes(const std::uint8_t* bytes) {
    std::int32_t four;
    __builtin_memcpy(&four, bytes, 4);
    return _mm256_set1_epi32(four);
}

// Sums of some outputs. What adds to them works on a copy: those that are handed on lie in memory, and stay there in every step.
template <int rows>
struct TileSums {
    __m256i kept[rows][2];
    WORKBENCH_INLINE explicit TileSums(const __m256i (&from)[4][2]) {
#pragma GCC unroll 4
        for (int i = 0; i < rows; ++i) kept[i][0] = from[i][0], kept[i][1] = from[i][1];
    }
    WORKBENCH_INLINE void to(__m256i (&sums)[4][2]) const {
#pragma GCC unroll 4
        for (int i = 0; i < rows; ++i) sums[i][0] = kept[i][0], sums[i][1] = kept[i][1];
    }
};

// Steps from `first` to `last`, by `together`: their products are added in 16 bits.
template <int rows, int together, bool low_bits>
static WORKBENCH_INLINE void add_products(const QuantizedPanel& panel, std::int64_t first, std::int64_t last,
                                          const std::uint8_t* const* pixels, __m256i (&sums)[4][2]) {
    const __m256i ones = _mm256_set1_epi16(1);
    const __m256i* weights = reinterpret_cast<const __m256i*>(panel.weights) + 2 * first;
    const std::int32_t* const end = panel.offsets + last;
    TileSums<rows> own(sums);
    for (const std::int32_t* offsets = panel.offsets + first; offsets < end; offsets += together, weights += 2 * together) {
#pragma GCC unroll 4
        for (int i = 0; i < rows; ++i) {
            __m256i values[together];
#pragma GCC unroll 2
            for (int k = 0; k < together; ++k) {
                values[k] = four_bytes(pixels[i] + offsets[k]);
                if constexpr (low_bits) values[k] = _mm256_and_si256(values[k], _mm256_set1_epi8(127));
            }
#pragma GCC unroll 2
            for (int half = 0; half < 2; ++half) {
                __m256i products = _mm256_maddubs_epi16(values[0], _mm256_load_si256(weights + half));
                if constexpr (together == 2)
                    products = _mm256_add_epi16(products, _mm256_maddubs_epi16(values[1], _mm256_load_si256(weights + 2 + half)));
                own.kept[i][half] = _mm256_add_epi32(own.kept[i][half], _mm256_madd_epi16(products, ones));
            }
        }
    }
    own.to(sums);
}

// What the top bits of bytes add: 128 times the weights that they meet, of which 16 bits hold the sums of many steps.
template <int rows>
static WORKBENCH_INLINE void add_top_bits(const QuantizedPanel& panel, const std::uint8_t* const* pixels, __m256i (&sums)[4][2]) {
    constexpr std::int64_t most = 32767 / (2 * 128);
    const __m256i ones = _mm256_set1_epi16(1), bit = _mm256_set1_epi8(1);
    for (std::int64_t step = 0; step < panel.steps;) {
        __m256i kept[rows][2] = {};
        for (const std::int64_t end = step + most < panel.steps ? step + most : panel.steps; step < end; ++step) {
            const __m256i* weights = reinterpret_cast<const __m256i*>(panel.weights) + 2 * step;
#pragma GCC unroll 4
            for (int i = 0; i < rows; ++i) {
                const __m256i bits = _mm256_and_si256(_mm256_srli_epi16(four_bytes(pixels[i] + panel.offsets[step]), 7), bit);
#pragma GCC unroll 2
                for (int half = 0; half < 2; ++half)
                    kept[i][half] = _mm256_add_epi16(kept[i][half], _mm256_maddubs_epi16(bits, _mm256_load_si256(weights + half)));
            }
        }
#pragma GCC unroll 4
        for (int i = 0; i < rows; ++i)
#pragma GCC unroll 2
            for (int half = 0; half < 2; ++half)
                sums[i][half] = _mm256_add_epi32(sums[i][half], _mm256_slli_epi32(_mm256_madd_epi16(kept[i][half], ones), 7));
    }
}

// Products of four bytes with both halves of a panel's weights, in 16 bits. GCC 12 puts off their sums and keeps all of them, in
// memory.
static WORKBENCH_INLINE void products_of(const std::uint8_t* bytes, __m256i first, __m256i second, __m256i (&products)[2]) {
    asm("vpbroadcastd %2, %1\n\tvpmaddubsw %3, %1, %0\n\tvpmaddubsw %4, %1, %1"
        : "=&x"(products[0]), "=&x"(products[1])
        : "m"(*reinterpret_cast<const FourBytes*>(bytes)), "x"(first), "x"(second));
}
static WORKBENCH_INLINE void add_products_of(const std::uint8_t* bytes, __m256i first, __m256i second, __m256i (&products)[2]) {
    __m256i value, more;
    asm("vpbroadcastd %4, %2\n\tvpmaddubsw %5, %2, %3\n\tvpmaddubsw %6, %2, %2\n\tvpaddw %3, %0, %0\n\tvpaddw %2, %1, %1"
        : "+x"(products[0]), "+x"(products[1]), "=&x"(value), "=&x"(more)
        : "m"(*reinterpret_cast<const FourBytes*>(bytes)), "x"(first), "x"(second));
}

// Four steps at a time, and up to two outputs: their products stay in registers.
template <int rows>
static WORKBENCH_INLINE void add_quads(const QuantizedPanel& panel, const std::uint8_t* const* pixels, __m256i (&sums)[4][2]) {
    constexpr int beside = rows < 2 ? 1 : 2;
    const __m256i ones = _mm256_set1_epi16(1);
    const __m256i* weights = reinterpret_cast<const __m256i*>(panel.weights);
    const std::int32_t* const end = panel.offsets + panel.quads;
    TileSums<rows> own(sums);
    for (const std::int32_t* offsets = panel.offsets; offsets != end; offsets += 4, weights += 8)
#pragma GCC unroll 2
        for (int i = 0; i < rows; i += beside) {
            __m256i products[beside][2];
#pragma GCC unroll 4
            for (int k = 0; k < 4; ++k) {
                const __m256i first = _mm256_load_si256(weights + 2 * k), second = _mm256_load_si256(weights + 2 * k + 1);
#pragma GCC unroll 2
                for (int j = 0; j < beside; ++j)
                    if (k == 0)
                        products_of(pixels[i + j] + offsets[k], first, second, products[j]);
                    else
                        add_products_of(pixels[i + j] + offsets[k], first, second, products[j]);
            }
#pragma GCC unroll 2
            for (int j = 0; j < beside; ++j)
#pragma GCC unroll 2
                for (int half = 0; half < 2; ++half)
                    own.kept[i + j][half] = _mm256_add_epi32(own.kept[i + j][half], _mm256_madd_epi16(products[j][half], ones));
        }
    own.to(sums);
}

// A byte of its own for each channel of a block: as a pair of 16-bit numbers, of which one is zero.
template <int rows>
static WORKBENCH_INLINE void add_apart(const QuantizedPanel& panel, const std::uint8_t* const* pixels,
                                       __m256i (&sums)[4][2]) {
    for (std::int64_t step = 0; step < panel.steps; ++step)
        for (int half = 0; half < 2; ++half) {
            const __m256i weights = _mm256_cvtepi8_epi32(
                _mm_loadl_epi64(reinterpret_cast<const __m128i*>(panel.weights + 16 * step + 8 * half)));
            for (int i = 0; i < rows; ++i) {
                const __m256i values = _mm256_cvtepu8_epi32(
                    _mm_loadl_epi64(reinterpret_cast<const __m128i*>(pixels[i] + panel.offsets[step] + 8 * half)));
                sums[i][half] = _mm256_add_epi32(sums[i][half], _mm256_madd_epi16(values, weights));
            }
        }
}

template <int rows>
static WORKBENCH_INLINE void tile_sums(const QuantizedPanel& panel, const std::uint8_t* const* pixels, bool wide,
                                       __m256i (&sums)[4][2]) {
    for (int i = 0; i < rows; ++i)
        for (int half = 0; half < 2; ++half)
            sums[i][half] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(panel.start + 8 * half));
    if (panel.apart) {
        add_apart<rows>(panel, pixels, sums);
    } else if (wide) {
        add_products<rows, 2, true>(panel, 0, panel.pairs, pixels, sums);
        add_products<rows, 1, true>(panel, panel.pairs, panel.steps, pixels, sums);
        add_top_bits<rows>(panel, pixels, sums);
    } else {
        add_quads<rows>(panel, pixels, sums);
        add_products<rows, 2, false>(panel, panel.quads, panel.pairs, pixels, sums);
        add_products<rows, 1, false>(panel, panel.pairs, panel.steps, pixels, sums);
    }
}

static WORKBENCH_INLINE void keep_sums(__m256i first, __m256i second, std::int32_t* to) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), first);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 8), second);
}

// The codes of eight sums, not below the least one there is: to real numbers, to codes, round to even.
template <bool joined>
static WORKBENCH_INLINE __m256i codes_of(__m256i sums, const __m256 (&by)[6]) {
    const auto& [scale, shift, input_scale, inverse, zero, high] = by;
    __m256 value = _mm256_cvtepi32_ps(sums);
    if constexpr (joined) {
        value = _mm256_round_ps(_mm256_mul_ps(_mm256_add_ps(value, shift), scale), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        value = _mm256_add_ps(value, zero);
    } else {
        value = _mm256_add_ps(_mm256_mul_ps(_mm256_mul_ps(value, input_scale), scale), shift);
        value = _mm256_add_ps(_mm256_mul_ps(value, inverse), zero);
    }
    // What is too small for 32 bits becomes the least number there is.
    return _mm256_cvtps_epi32(_mm256_min_ps(value, high));
}

// Sixteen sums each of `count` outputs become bytes.
template <bool joined>
static WORKBENCH_INLINE void write_codes(const QuantizedPanel& panel, const __m256i (*sums)[2], int count, std::uint8_t* out,
                                         std::int64_t step) {
    const __m256 input_scale = _mm256_set1_ps(panel.input_scale), inverse = _mm256_set1_ps(panel.inverse);
    const __m256 zero = _mm256_set1_ps(panel.zero), high = _mm256_set1_ps(panel.high);
    const __m256 lower[6] = {_mm256_loadu_ps(panel.scale), _mm256_loadu_ps(panel.shift), input_scale, inverse, zero, high};
    const __m256 upper[6] = {_mm256_loadu_ps(panel.scale + 8), _mm256_loadu_ps(panel.shift + 8), input_scale, inverse, zero, high};
    const __m256i least = _mm256_set1_epi8(static_cast<char>(static_cast<std::int32_t>(panel.low)));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (int k = 0; k < count; k += 2, out += 2 * step) {
        // Two outputs at a time, the second of which may be none.
        const int next = k + 1 < count ? k + 1 : k;
        const __m256i words = _mm256_packs_epi32(codes_of<joined>(sums[k][0], lower), codes_of<joined>(sums[k][1], upper));
        const __m256i more = _mm256_packs_epi32(codes_of<joined>(sums[next][0], lower), codes_of<joined>(sums[next][1], upper));
        const __m256i bytes = _mm256_max_epu8(_mm256_permutevar8x32_epi32(_mm256_packus_epi16(words, more), order), least);
        const __m128i both[2] = {_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1)};
        for (int j = 0; j < 2 && k + j < count; ++j)
            if (panel.channels == 16) {
                _mm_storeu_si128(reinterpret_cast<__m128i*>(out + j * step), both[j]);
            } else {
                alignas(16) std::uint8_t buffer[16];
                _mm_store_si128(reinterpret_cast<__m128i*>(buffer), both[j]);
                for (std::int64_t i = 0; i < panel.channels; ++i) out[j * step + i] = buffer[i];
            }
    }
}

static WORKBENCH_INLINE void write_bytes(const QuantizedPanel& panel, const __m256i (*sums)[2], int count, std::uint8_t* out,
                                         std::int64_t step) {
    if (panel.how == Requantization::joined)
        write_codes<true>(panel, sums, count, out, step);
    else
        write_codes<false>(panel, sums, count, out, step);
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

template <int rows>
static WORKBENCH_INLINE void tile_sums(const QuantizedPanel& panel, const std::uint8_t* const* pixels, bool,
                                       Sums (&sums)[4][2]) {
    for (int i = 0; i < rows; ++i)
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

static WORKBENCH_INLINE void keep_sums(const Sums& first, const Sums& second, std::int32_t* to) {
    for (int c = 0; c < 16; ++c) to[c] = (c < 8 ? first : second).lane[c % 8];
}

static WORKBENCH_INLINE void write_bytes(const QuantizedPanel& panel, const Sums (*sums)[2], int count, std::uint8_t* out,
                                         std::int64_t step) {
    for (std::int64_t i = 0; i < count * panel.channels; ++i) {
        const std::int64_t c = i % panel.channels, k = i / panel.channels;
        const float sum = static_cast<float>(sums[k][c / 8].lane[c % 8]);
        float value = panel.how == Requantization::joined
                          ? __builtin_nearbyintf((sum + panel.shift[c]) * panel.scale[c]) + panel.zero
                          : (sum * panel.input_scale * panel.scale[c] + panel.shift[c]) * panel.inverse + panel.zero;
        value = value < panel.high ? value : panel.high;
        value = value > panel.low ? value : panel.low;
        out[k * step + c] = static_cast<std::uint8_t>(static_cast<std::int32_t>(__builtin_nearbyintf(value)));
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

// Sixteen sums each of `count` outputs from `at` on go where they are wanted; outputs lie `step` apart there.
static WORKBENCH_INLINE void finish(const QuantizedPanel& panel, const Sums (*sums)[2], int count, const QuantizedTarget& target,
                                    std::int64_t at, std::int64_t step) {
    if (target.bytes && panel.how != Requantization::whole) return write_bytes(panel, sums, count, target.bytes + at * step, step);
    for (int k = 0; k < count; ++k, ++at) {
        if (!target.bytes && !target.scales) {
            write_floats(panel, sums[k][0], sums[k][1], target.floats + at * step);
            continue;
        }
        std::int32_t kept[16];
        keep_sums(sums[k][0], sums[k][1], kept);
        if (target.bytes)
            write_whole(panel, kept, target.bytes + at * step);
        else
            write_own(panel, kept, target.scales[at], target.zeros[at], target.floats + at * step);
    }
}

// The largest of each 2 x 2 outputs. Scales are positive, so the largest sum is the largest result.
static void quantized_pooled(const QuantizedPlane& plane, const QuantizedPanel& panel, std::uint8_t* out) {
    for (std::int64_t y = 0; y + 2 <= plane.height; y += 2) {
        const bool wide = plane.wide_rows[y] | plane.wide_rows[y + 1];
        for (std::int64_t x = 0; x + 2 <= plane.width; x += 2, out += plane.channels) {
            const std::uint8_t* corner = plane.image + y * plane.row_step + x * plane.pixel_step;
            const std::uint8_t* pixels[4] = {corner, corner + plane.pixel_step, corner + plane.row_step,
                                             corner + plane.row_step + plane.pixel_step};
            Sums sums[4][2];
            tile_sums<4>(panel, pixels, wide, sums);
            for (int half = 0; half < 2; ++half)
                sums[0][half] = larger(larger(sums[0][half], sums[1][half]), larger(sums[2][half], sums[3][half]));
            finish(panel, sums, 1, {out, nullptr, nullptr, nullptr}, 0, 0);
        }
    }
}

// Outputs first..last of the plane in row-major order.
static void quantized_outputs(const QuantizedPlane& plane, const QuantizedPanel& panel, std::int64_t first,
                              std::int64_t last, const QuantizedTarget& target) {
    for (std::int64_t i = first; i < last; i += 4) {
        const std::uint8_t* pixels[4];
        bool wide = false;
        const int count = last - i < 4 ? static_cast<int>(last - i) : 4;
        for (int k = 0; k < 4; ++k) {
            const std::int64_t at = i + (k < count ? k : count - 1);
            const std::int64_t y = at / plane.width, x = at % plane.width;
            pixels[k] = plane.image + y * plane.row_step + x * plane.pixel_step;
            wide |= plane.wide_rows[y] != 0;
        }
        Sums sums[4][2];
        if (count == 1)
            tile_sums<1>(panel, pixels, wide, sums);
        else if (count == 2)
            tile_sums<2>(panel, pixels, wide, sums);
        else
            tile_sums<4>(panel, pixels, wide, sums);
        finish(panel, sums, count, target, i, plane.channels);
    }
}

// Never called: who has tiles has VNNI.
static void quantized_tiles(const QuantizedPanel&, const QuantizedRows&, std::int64_t, const QuantizedTarget&) {}
static void gather_tiles(const QuantizedPlane&, const QuantizedPanel&, std::int64_t, std::int64_t, std::int64_t, std::uint8_t*,
                         std::int64_t) {}

// Whether any of `count` bytes exceeds 127.
static bool any_wide(const std::uint8_t* bytes, std::int64_t count) {
    std::uint8_t all = 0;
    for (std::int64_t i = 0; i < count; ++i) all |= bytes[i];
    return all > 127;
}

#endif
