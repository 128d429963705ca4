// Rows of a table in codes, as numbers. Included once per instruction set; see dispatch.hpp. Compiled without contraction, as NumPy
// computes.

// The rows of one bag: written where `begins`, else added, or the greater kept.
static void row_of_codes(const TableOfCodes& table, std::int64_t row, float weight, int how, float* out) {
    const float scale = table.scales[row], zero = table.zeros[row];
    const std::uint8_t* codes = table.codes + row * table.step;
    const auto value = [&](std::int64_t i) {
        const std::uint8_t code = table.bits == 8 ? codes[i] : static_cast<std::uint8_t>(codes[i / 2] >> 4 * (i % 2) & 15);
        return (static_cast<float>(code) - zero) * scale * weight;
    };
    if (how == 0) {
        if (table.bits == 8)
            for (std::int64_t i = 0; i < table.width; ++i) out[i] = (static_cast<float>(codes[i]) - zero) * scale * weight;
        else
            for (std::int64_t i = 0; i < table.width; ++i) out[i] = value(i);
    } else if (how == 1) {
        if (table.bits == 8)
            for (std::int64_t i = 0; i < table.width; ++i) out[i] += (static_cast<float>(codes[i]) - zero) * scale * weight;
        else
            for (std::int64_t i = 0; i < table.width; ++i) out[i] += value(i);
    } else {
        for (std::int64_t i = 0; i < table.width; ++i) {
            const float found = value(i);
            out[i] = found > out[i] ? found : out[i];
        }
    }
}

static void divided(float* out, std::int64_t count, float by) {
    for (std::int64_t i = 0; i < count; ++i) out[i] /= by;
}
