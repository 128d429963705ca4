// Observations of values. Included once per instruction set; see dispatch.hpp.

// Moments of a block that fits the first-level cache: sums first, then squared distances from the block's own mean.
static Moments block_statistics(const float* x, std::int64_t count) {
    const floats8 none = spread(0.f);
    floats8 least = spread(__builtin_inff()), largest = spread(-__builtin_inff()), sum = none;
    ints8 finite = spread(0), nan = spread(0), zero = spread(0);
    Moments out{};
    const std::int64_t whole = count / 8 * 8;
    for (std::int64_t i = 0; i < whole; i += 8) {
        const floats8 value = load(x + i);
        const ints8 good = value - value == none;
        least = good & (value < least) ? value : least;
        largest = good & (value > largest) ? value : largest;
        sum += good ? value : none;
        finite -= good;
        nan -= value != value;
        zero -= value == none;
    }
    double total = 0;
    out.least = __builtin_inff(), out.largest = -__builtin_inff();
    for (int lane = 0; lane < 8; ++lane) {
        out.least = least[lane] < out.least ? least[lane] : out.least;
        out.largest = largest[lane] > out.largest ? largest[lane] : out.largest;
        total += static_cast<double>(sum[lane]);
        out.finite += finite[lane], out.nan += nan[lane], out.zero += zero[lane];
    }
    for (std::int64_t i = whole; i < count; ++i) {
        const float value = x[i];
        out.nan += value != value;
        out.zero += value == 0.f;
        if (value - value != 0.f) continue;
        ++out.finite;
        total += static_cast<double>(value);
        out.least = value < out.least ? value : out.least;
        out.largest = value > out.largest ? value : out.largest;
    }
    out.infinite = count - out.finite - out.nan;
    if (out.finite == 0) return out;
    out.mean = total / static_cast<double>(out.finite);
    const float centre = static_cast<float>(out.mean);
    floats8 squares = none;
    for (std::int64_t i = 0; i < whole; i += 8) {
        const floats8 value = load(x + i), distance = value - centre;
        squares += value - value == none ? distance * distance : none;
    }
    for (int lane = 0; lane < 8; ++lane) out.deviation += static_cast<double>(squares[lane]);
    for (std::int64_t i = whole; i < count; ++i) {
        const double distance = static_cast<double>(x[i]) - out.mean;
        if (x[i] - x[i] == 0.f) out.deviation += distance * distance;
    }
    return out;
}

// Extremes of finite values and counts of the others, without moments.
static Moments block_extremes(const float* x, std::int64_t count) {
    const floats8 none = spread(0.f);
    floats8 least = spread(__builtin_inff()), largest = spread(-__builtin_inff());
    ints8 finite = spread(0), nan = spread(0);
    Moments out{};
    const std::int64_t whole = count / 8 * 8;
    for (std::int64_t i = 0; i < whole; i += 8) {
        const floats8 value = load(x + i);
        const ints8 good = value - value == none;
        least = good & (value < least) ? value : least;
        largest = good & (value > largest) ? value : largest;
        finite -= good;
        nan -= value != value;
    }
    out.least = __builtin_inff(), out.largest = -__builtin_inff();
    for (int lane = 0; lane < 8; ++lane) {
        out.least = least[lane] < out.least ? least[lane] : out.least;
        out.largest = largest[lane] > out.largest ? largest[lane] : out.largest;
        out.finite += finite[lane], out.nan += nan[lane];
    }
    for (std::int64_t i = whole; i < count; ++i) {
        const float value = x[i];
        out.nan += value != value;
        if (value - value != 0.f) continue;
        ++out.finite;
        out.least = value < out.least ? value : out.least;
        out.largest = value > out.largest ? value : out.largest;
    }
    out.infinite = count - out.finite - out.nan;
    return out;
}

// Adds to four tables of counts, by turns: neighbours often fall into one bin, and would wait for each other in one
// table. Each table has bins + 1 entries; the last one takes what lies outside.
static void histogram_run(const float* x, std::int64_t count, double low, double high, double bins_per_unit,
                          std::int64_t bins, std::int32_t* tables) {
    constexpr std::int64_t chunk = 1024;
    std::int32_t places[chunk];
    const std::int32_t outside = static_cast<std::int32_t>(bins), last = outside - 1;
    const std::int64_t size = bins + 1;
    for (std::int64_t start = 0; start < count; start += chunk) {
        const std::int64_t length = count - start < chunk ? count - start : chunk;
        for (std::int64_t i = 0; i < length; ++i) {
            const double value = static_cast<double>(x[start + i]);
            const bool inside = (value >= low) & (value <= high);
            const std::int32_t place = static_cast<std::int32_t>((inside ? value - low : 0.0) * bins_per_unit);
            places[i] = inside ? (place < last ? place : last) : outside;
        }
        std::int64_t i = 0;
        for (; i + 4 <= length; i += 4) {
            ++tables[places[i]];
            ++tables[size + places[i + 1]];
            ++tables[2 * size + places[i + 2]];
            ++tables[3 * size + places[i + 3]];
        }
        for (; i < length; ++i) ++tables[places[i]];
    }
}
