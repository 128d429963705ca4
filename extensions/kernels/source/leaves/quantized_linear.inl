// What an affine map on codes needs: the integer product, and codes of floats by their range. Included once per instruction
// set; see dispatch.hpp.
#include "quantized.inl"


#if defined(WORKBENCH_VNNI)

static WORKBENCH_INLINE __mmask16 lanes_below(std::int64_t count) {
    return static_cast<__mmask16>(count >= 16 ? 0xffff : (1 << count) - 1);
}

// The least and the largest of some floats and of zero; what is not finite is passed over, and told of: false if any is.
static bool range_with_zero(const float* x, std::int64_t count, float* least, float* most) {
    constexpr int together = 4;
    const __m512 largest = _mm512_set1_ps(__FLT_MAX__);
    __m512 lows[together], highs[together];
    __mmask16 all = 0xffff;
    for (int k = 0; k < together; ++k) lows[k] = highs[k] = _mm512_setzero_ps();
    const auto take = [&](int k, __m512 values) {
        const __mmask16 finite = _mm512_cmp_ps_mask(_mm512_abs_ps(values), largest, _CMP_LE_OQ);
        lows[k] = _mm512_mask_min_ps(lows[k], finite, lows[k], values);
        highs[k] = _mm512_mask_max_ps(highs[k], finite, highs[k], values);
        all &= finite;
    };
    std::int64_t i = 0;
    for (; i + 16 * together <= count; i += 16 * together)
        for (int k = 0; k < together; ++k) take(k, _mm512_loadu_ps(x + i + 16 * k));
    for (; i < count; i += 16) take(0, _mm512_maskz_loadu_ps(lanes_below(count - i), x + i));
    for (int k = 1; k < together; ++k) {
        lows[0] = _mm512_min_ps(lows[0], lows[k]);
        highs[0] = _mm512_max_ps(highs[0], highs[k]);
    }
    *least = _mm512_reduce_min_ps(lows[0]), *most = _mm512_reduce_max_ps(highs[0]);
    return all == 0xffff;
}

// Codes from 0 to `highest` of floats: clamp(rne(x / scale + zero)), the product not rounded before the sum. NaN becomes the
// highest code.
static void quantize_to_codes(const float* x, float inverse, float zero, float highest, std::int64_t count, std::uint8_t* out) {
    const __m512 factor = _mm512_set1_ps(inverse), added = _mm512_set1_ps(zero), high = _mm512_set1_ps(highest);
    for (std::int64_t i = 0; i < count; i += 16) {
        const __mmask16 there = lanes_below(count - i);
        // The lesser of two is the second where the first is no number. The bounds are whole: they may come before rounding.
        const __m512 value = _mm512_min_ps(_mm512_fmadd_ps(_mm512_maskz_loadu_ps(there, x + i), factor, added), high);
        const __m512i codes = _mm512_cvtps_epi32(_mm512_max_ps(value, _mm512_setzero_ps()));
        if (there == 0xffff)
            _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), _mm512_cvtepi32_epi8(codes));
        else
            _mm512_mask_cvtepi32_storeu_epi8(out + i, there, codes);
    }
}

#else

#include "quantize.inl"

// The least and the largest of some floats and of zero; what is not finite is passed over, and told of: false if any is.
static bool range_with_zero(const float* x, std::int64_t count, float* least, float* most) {
    float low = 0.f, high = 0.f;
    constexpr int width = 16;
    float lows[width] = {}, highs[width] = {};
    // Zero times what is not finite is no number, and stays none in a sum.
    float none[width] = {};
    std::int64_t i = 0;
    for (; i + width <= count; i += width)
        for (int k = 0; k < width; ++k) {
            lows[k] = (x[i + k] < lows[k]) & (x[i + k] >= -__FLT_MAX__) ? x[i + k] : lows[k];
            highs[k] = (x[i + k] > highs[k]) & (x[i + k] <= __FLT_MAX__) ? x[i + k] : highs[k];
            none[k] += x[i + k] * 0.f;
        }
    for (; i < count; ++i) {
        low = (x[i] < low) & (x[i] >= -__FLT_MAX__) ? x[i] : low;
        high = (x[i] > high) & (x[i] <= __FLT_MAX__) ? x[i] : high;
        none[0] += x[i] * 0.f;
    }
    bool finite = true;
    for (int k = 0; k < width; ++k) {
        low = lows[k] < low ? lows[k] : low;
        high = highs[k] > high ? highs[k] : high;
        finite &= none[k] == 0.f;
    }
    *least = low, *most = high;
    return finite;
}

static void quantize_to_codes(const float* x, float inverse, float zero, float highest, std::int64_t count, std::uint8_t* out) {
    quantize_unsigned(x, Grid{nullptr, &inverse, &zero, 0}, count, 0.f, highest, out);
}

#endif
