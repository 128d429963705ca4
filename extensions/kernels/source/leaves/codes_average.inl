// The mean of a box of codes for each channel. Included once per instruction set; see dispatch.hpp. Compiled without contraction,
// as NumPy computes.

typedef std::uint8_t bytes16 __attribute__((vector_size(16)));
typedef std::uint8_t bytes16_unaligned __attribute__((vector_size(16), aligned(1), may_alias));

template <typename Tap>
static WORKBENCH_INLINE void for_taps(const std::uint8_t* image, const CodesBox& box, Tap&& tap) {
    for (std::int64_t z = box.from[0]; z < box.to[0]; ++z)
        for (std::int64_t y = box.from[1]; y < box.to[1]; ++y) {
            const std::uint8_t* at = image + z * box.step[0] + y * box.step[1];
            for (std::int64_t x = box.from[2]; x < box.to[2]; ++x) tap(at + x * box.step[2]);
        }
}

static WORKBENCH_INLINE void codes_of_sums(const std::int32_t* sums, std::int64_t channels, const CodesMean& mean, std::uint8_t* out) {
    const float zero = static_cast<float>(mean.zero);
    for (std::int64_t c = 0; c < channels; ++c) {
        const float code = __builtin_rintf(static_cast<float>(sums[c]) * mean.factor + zero);
        const float bounded = code < 255.f + mean.low ? code : 255.f + mean.low;
        out[c] = static_cast<std::uint8_t>(static_cast<std::int32_t>(bounded > mean.low ? bounded : mean.low));
    }
}

// Sixteen times `many` channels from one on: bytes are added in 16 bits as often as these hold, then in 32.
template <int many>
static WORKBENCH_INLINE void average_vectors(const std::uint8_t* image, const CodesBox& box, const CodesMean& mean,
                                             std::int32_t start, std::uint8_t* out) {
    constexpr int most = 65535 / 255;
    halves16 part[many];
    std::int32_t sums[16 * many];
    for (int v = 0; v < many; ++v) part[v] = halves16{};
    for (int c = 0; c < 16 * many; ++c) sums[c] = start;
    const auto gather = [&] {
        for (int v = 0; v < many; ++v) {
            for (int c = 0; c < 16; ++c) sums[16 * v + c] += part[v][c];
            part[v] = halves16{};
        }
    };
    int taps = 0;
    for_taps(image, box, [&](const std::uint8_t* tap) {
        for (int v = 0; v < many; ++v)
            part[v] += __builtin_convertvector(
                (bytes16)(*reinterpret_cast<const bytes16_unaligned*>(tap + 16 * v)) ^ mean.flip, halves16);
        if (++taps == most) gather(), taps = 0;
    });
    gather();
    codes_of_sums(sums, 16 * many, mean, out);
}

// Signed codes are taken as unsigned ones, which are 128 more: their top bit is flipped.
static void average_box(const std::uint8_t* image, const CodesBox& box, const CodesMean& mean, std::uint8_t* out) {
    const std::int64_t count = (box.to[0] - box.from[0]) * (box.to[1] - box.from[1]) * (box.to[2] - box.from[2]);
    const std::int32_t start = -(mean.zero + mean.flip) * static_cast<std::int32_t>(count);
    std::int64_t c = 0;
    for (; c + 64 <= box.channels; c += 64) average_vectors<4>(image + c, box, mean, start, out + c);
    for (; c + 16 <= box.channels; c += 16) average_vectors<1>(image + c, box, mean, start, out + c);
    for (; c < box.channels; ++c) {
        std::int32_t sum = start;
        for_taps(image + c, box, [&](const std::uint8_t* tap) { sum += static_cast<std::uint8_t>(*tap ^ mean.flip); });
        codes_of_sums(&sum, 1, mean, out + c);
    }
}
