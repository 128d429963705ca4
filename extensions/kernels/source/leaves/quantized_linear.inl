// What an affine map on codes needs: the integer product, and codes of floats by their range. Included once per instruction
// set; see dispatch.hpp.
#include "quantized.inl"
#include "quantize.inl"

// The least and the largest of some floats and of zero; what is not finite is passed over.
static void range_with_zero(const float* x, std::int64_t count, float* least, float* most) {
    float low = 0.f, high = 0.f;
    constexpr int width = 16;
    float lows[width] = {}, highs[width] = {};
    std::int64_t i = 0;
    for (; i + width <= count; i += width)
        for (int k = 0; k < width; ++k) {
            lows[k] = (x[i + k] < lows[k]) & (x[i + k] >= -__FLT_MAX__) ? x[i + k] : lows[k];
            highs[k] = (x[i + k] > highs[k]) & (x[i + k] <= __FLT_MAX__) ? x[i + k] : highs[k];
        }
    for (; i < count; ++i) {
        low = (x[i] < low) & (x[i] >= -__FLT_MAX__) ? x[i] : low;
        high = (x[i] > high) & (x[i] <= __FLT_MAX__) ? x[i] : high;
    }
    for (int k = 0; k < width; ++k) {
        low = lows[k] < low ? lows[k] : low;
        high = highs[k] > high ? highs[k] : high;
    }
    *least = low, *most = high;
}
