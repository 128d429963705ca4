// What steps on codes need. Included once per instruction set; see dispatch.hpp.
#include "quantize.inl"

// The mean of a plane of codes whose channels lie last: along rows, then along columns, each value times one over their number, as
// the op adds them up one by one in floats.
static void mean_of_plane(const std::uint8_t* image, std::int64_t high, std::int64_t wide, std::int64_t channels, const CodesIn& of,
                          const Grid& grid, std::uint8_t* out) {
    constexpr int together = 64;
    const float of_row = wide > 1 ? 1.f / static_cast<float>(wide) : 1.f, of_column = high > 1 ? 1.f / static_cast<float>(high) : 1.f;
    for (std::int64_t first = 0; first < channels; first += together) {
        const std::int64_t count = channels - first < together ? channels - first : together;
        float total[together];
        for (std::int64_t y = 0; y < high; ++y) {
            float row[together];
            for (std::int64_t x = 0; x < wide; ++x) {
                const std::uint8_t* codes = image + (y * wide + x) * channels + first;
                for (std::int64_t c = 0; c < count; ++c) {
                    const float value = (static_cast<float>(codes[c]) - of.zero) * of.scale * of_row;
                    row[c] = x ? row[c] + value : value;
                }
            }
            for (std::int64_t c = 0; c < count; ++c) total[c] = y ? total[c] + row[c] * of_column : row[c] * of_column;
        }
        quantize_unsigned(total, grid, count, 0.f, 255.f, out + first);
    }
}
