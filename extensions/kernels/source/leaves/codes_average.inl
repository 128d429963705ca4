// The mean of a box of codes for each channel. Included once per instruction set; see dispatch.hpp. Compiled without contraction,
// as NumPy computes.

template <typename Code>
static WORKBENCH_INLINE void average_any(const Code* image, const CodesBox& box, float factor, std::int32_t zero, Code* out) {
    constexpr std::int64_t together = 128;  // channels whose sums stay in the first cache
    constexpr float low = Code(-1) < Code(0) ? -128.f : 0.f;
    const std::int64_t count = (box.to[0] - box.from[0]) * (box.to[1] - box.from[1]) * (box.to[2] - box.from[2]);
    const std::int32_t start = -zero * static_cast<std::int32_t>(count);
    for (std::int64_t first = 0; first < box.channels; first += together) {
        const std::int64_t channels = box.channels - first < together ? box.channels - first : together;
        std::int32_t sums[together];
        for (std::int64_t c = 0; c < channels; ++c) sums[c] = start;
        for (std::int64_t z = box.from[0]; z < box.to[0]; ++z)
            for (std::int64_t y = box.from[1]; y < box.to[1]; ++y)
                for (std::int64_t x = box.from[2]; x < box.to[2]; ++x) {
                    const Code* __restrict tap = image + z * box.step[0] + y * box.step[1] + x * box.step[2] + first;
                    for (std::int64_t c = 0; c < channels; ++c) sums[c] += tap[c];
                }
        for (std::int64_t c = 0; c < channels; ++c) {
            const float code = __builtin_rintf(static_cast<float>(sums[c]) * factor + static_cast<float>(zero));
            const float bounded = code < low + 255.f ? code : low + 255.f;
            out[first + c] = static_cast<Code>(static_cast<std::int32_t>(bounded > low ? bounded : low));
        }
    }
}

static void average_unsigned(const std::uint8_t* image, const CodesBox& box, float factor, std::int32_t zero, std::uint8_t* out) {
    average_any(image, box, factor, zero, out);
}
static void average_signed(const std::int8_t* image, const CodesBox& box, float factor, std::int32_t zero, std::int8_t* out) {
    average_any(image, box, factor, zero, out);
}
