// Distances between rows, and which of many may be among the nearest. Included once per instruction set; see dispatch.hpp.

// Eight sums side by side, added up in one order: the same rows are as far apart wherever it is asked.
template <typename T, typename U>
static WORKBENCH_INLINE double squared_distance(const T* x, const U* y, std::int64_t features) {
    double sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    std::int64_t i = 0;
    for (; i + 8 <= features; i += 8)
        for (int lane = 0; lane < 8; ++lane) {
            const double apart = static_cast<double>(x[i + lane]) - static_cast<double>(y[i + lane]);
            sums[lane] += apart * apart;
        }
    for (; i < features; ++i) {
        const double apart = static_cast<double>(x[i]) - static_cast<double>(y[i]);
        sums[0] += apart * apart;
    }
    return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

template <typename T>
static void squared_distances(const T* points, std::int64_t rows, std::int64_t features, const T* own, double* distances) {
    for (std::int64_t row = 0; row < rows; ++row) distances[row] = squared_distance(points + row * features, own, features);
}

// To rows here and there: while one is read, the next is on its way from memory.
template <typename T>
static void squared_distances_of(const T* points, const std::int32_t* places, std::int64_t count, std::int64_t features, const double* own,
                                 double* distances) {
    constexpr std::int64_t line = 64 / sizeof(T), ahead = 2, most = 2048 / sizeof(T);
    for (std::int64_t i = 0; i < count; ++i) {
        if (i + ahead < count) {
            const T* next = points + places[i + ahead] * features;
            for (std::int64_t j = 0; j < features && j < most; j += line) __builtin_prefetch(next + j);
        }
        distances[i] = squared_distance(points + places[i] * features, own, features);
    }
}

// Products with a direction, and the squares of the rows' lengths.
template <typename T>
static void products_and_squares(const T* points, std::int64_t rows, std::int64_t features, const double* direction, double* products,
                                 double* squares) {
    for (std::int64_t row = 0; row < rows; ++row, points += features) {
        double with[8] = {0, 0, 0, 0, 0, 0, 0, 0}, own[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        std::int64_t i = 0;
        for (; i + 8 <= features; i += 8)
            for (int lane = 0; lane < 8; ++lane) {
                const double value = static_cast<double>(points[i + lane]);
                with[lane] += value * direction[i + lane], own[lane] += value * value;
            }
        for (; i < features; ++i) {
            const double value = static_cast<double>(points[i]);
            with[0] += value * direction[i], own[0] += value * value;
        }
        products[row] = ((with[0] + with[4]) + (with[1] + with[5])) + ((with[2] + with[6]) + (with[3] + with[7]));
        squares[row] = ((own[0] + own[4]) + (own[1] + own[5])) + ((own[2] + own[6]) + (own[3] + own[7]));
    }
}

// The least of least[j] - 2 products[j] + width[j] in each of `groups` groups, a multiple of 16: j belongs to group j % groups.
static void least_of_groups(const float* products, const float* least, const float* width, std::int64_t count, std::int64_t groups,
                            float* minima) {
    for (std::int64_t group = 0; group < groups; ++group) minima[group] = __builtin_inff();
    for (std::int64_t from = 0; from < count; from += groups) {
        const std::int64_t size = count - from < groups ? count - from : groups;
        for (std::int64_t group = 0; group < size; ++group) {
            const float far = least[from + group] - 2 * products[from + group] + width[from + group];
            minima[group] = far < minima[group] ? far : minima[group];
        }
    }
}

// Places where least[j] - 2 products[j] is at most `bound`, with that value; there has to be room for all. Of sixteen values in a row
// mostly none is near, and they are passed over together.
static std::int64_t places_within(const float* products, const float* least, std::int64_t count, float bound, std::int32_t* places,
                                  float* values) {
    std::int64_t kept = 0, j = 0;
    for (; j + 16 <= count; j += 16) {
        float far[16];
        int any = 0;
        for (int lane = 0; lane < 16; ++lane) {
            far[lane] = least[j + lane] - 2 * products[j + lane];
            any |= far[lane] <= bound;
        }
        if (!any) continue;
        for (int lane = 0; lane < 16; ++lane) {
            places[kept] = static_cast<std::int32_t>(j + lane), values[kept] = far[lane];
            kept += far[lane] <= bound;
        }
    }
    for (; j < count; ++j) {
        const float far = least[j] - 2 * products[j];
        if (far <= bound) places[kept] = static_cast<std::int32_t>(j), values[kept++] = far;
    }
    return kept;
}
