// Products of points with themselves and with a few directions, less a middle. Included once per instruction set; see dispatch.hpp.

// How many floats hold the values of a row: whole registers.
static std::int64_t floats_of_row(std::int64_t features) { return (features + lanes - 1) / lanes * lanes; }

// Rows less the middle, each in `wide` floats, of which those behind the features are left as they are; adds up the columns.
static void rows_less_middle(const float* points, std::int64_t rows, std::int64_t features, const float* middle, std::int64_t wide,
                             float* out, double* sums) {
    for (std::int64_t row = 0; row < rows; ++row) {
        const float* point = points + row * features;
        float* apart = out + row * wide;
        std::int64_t i = 0;
        for (; i + lanes <= features; i += lanes) store_floats(apart + i, load_floats(point + i) - load_floats(middle + i));
        for (; i < features; ++i) apart[i] = point[i] - middle[i];
    }
    for (std::int64_t from = 0; from < wide; from += lanes) {
        floats sum = all(0.f);
        for (std::int64_t row = 0; row < rows; ++row) sum += load_floats(out + row * wide + from);
        for (int lane = 0; lane < lanes; ++lane) sums[from + lane] += static_cast<double>(sum[lane]);
    }
}

// As many sums as registers hold beside what they are made of.
constexpr int columns_at_once = lanes == 16 ? 12 : 6;

// Some columns with as many vectors of others as `width`, over all rows; sums in floats, added up in doubles.
template <int width>
static WORKBENCH_INLINE void add_tile(const float* left, const float* right, std::int64_t rows, std::int64_t wide, std::int64_t columns,
                                      double* out) {
    floats sums[columns_at_once][width];
    for (int column = 0; column < columns_at_once; ++column)
        for (int vector = 0; vector < width; ++vector) sums[column][vector] = all(0.f);
    for (std::int64_t row = 0; row < rows; ++row, left += wide, right += wide) {
        floats with[width];
        for (int vector = 0; vector < width; ++vector) with[vector] = load_floats(right + lanes * vector);
        for (int column = 0; column < columns_at_once; ++column)
            for (int vector = 0; vector < width; ++vector) sums[column][vector] += left[column] * with[vector];
    }
    for (std::int64_t column = 0; column < columns; ++column)
        for (int vector = 0; vector < width; ++vector)
            for (int lane = 0; lane < lanes; ++lane)
                out[column * wide + lanes * vector + lane] += static_cast<double>(sums[column][vector][lane]);
}

// Adds the products of columns of `values` [rows, wide] to `square` [wide, wide], on its diagonal and above. There are as many
// floats behind the values as columns are taken at once.
static void add_products_of_columns(const float* values, std::int64_t rows, std::int64_t wide, double* square) {
    for (std::int64_t right = 0; right < wide; right += 2 * lanes) {
        const bool whole = right + 2 * lanes <= wide;
        const std::int64_t end = whole ? right + 2 * lanes : wide;
        for (std::int64_t left = 0; left < end; left += columns_at_once) {
            const std::int64_t columns = end - left < columns_at_once ? end - left : columns_at_once;
            double* out = square + left * wide + right;
            if (whole)
                add_tile<2>(values + left, values + right, rows, wide, columns, out);
            else
                add_tile<1>(values + left, values + right, rows, wide, columns, out);
        }
    }
}

// Products of rows less the middle with `count` directions. Features behind the last whole eight are read with some before them, which
// the directions' last eight have zeros for.
template <int count>
static WORKBENCH_INLINE void rows_along_some(const float* points, std::int64_t rows, std::int64_t features, const float* middle,
                                             const float* directions, double* out, std::int64_t step) {
    const std::int64_t whole = features / 8 * 8, last = features - 8;
    floats8 ends[count] = {};
    for (int one = 0; one < count; ++one)
        for (std::int64_t i = whole; i < features; ++i) ends[one][i - last] = directions[one * features + i];
    for (std::int64_t row = 0; row < rows; ++row, points += features, out += step) {
        floats8 sums[count] = {};
        for (std::int64_t i = 0; i < whole; i += 8) {
            const floats8 apart = load(points + i) - load(middle + i);
            for (int one = 0; one < count; ++one) sums[one] += apart * load(directions + one * features + i);
        }
        if (whole < features) {
            const floats8 apart = load(points + last) - load(middle + last);
            for (int one = 0; one < count; ++one) sums[one] += apart * ends[one];
        }
        for (int one = 0; one < count; ++one) out[one] = static_cast<double>(lanes_sum(sums[one]));
    }
}

// Of eight features or more.
static void rows_along(const float* points, std::int64_t rows, std::int64_t features, const float* middle, const float* directions,
                       std::int64_t count, double* out) {
    std::int64_t one = 0;
    for (; one + 3 <= count; one += 3) rows_along_some<3>(points, rows, features, middle, directions + one * features, out + one, count);
    for (; one < count; ++one) rows_along_some<1>(points, rows, features, middle, directions + one * features, out + one, count);
}
