// Distances between rows, and which of many may be among the nearest. Included once per instruction set; see dispatch.hpp.

// Eight sums side by side, added up in one order: the same rows are as far apart wherever it is asked.
template <typename T>
static WORKBENCH_INLINE double squared_distance(const T* x, const T* y, std::int64_t features) {
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

template <typename T>
static void squared_distances_of(const T* points, const std::int32_t* places, std::int64_t count, std::int64_t features, const T* own,
                                 double* distances) {
    for (std::int64_t i = 0; i < count; ++i) distances[i] = squared_distance(points + places[i] * features, own, features);
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

// Places from `from` on where least[j] - 2 products[j] is at most `bound`, with that value, until `room` of them are found. Returns
// the place to go on from; of sixteen values in a row mostly none is near, and they are passed over together.
static std::int64_t places_within(const float* products, const float* least, std::int64_t from, std::int64_t count, float bound,
                                  std::int64_t room, std::int32_t* places, float* values, std::int64_t* found) {
    std::int64_t kept = 0, j = from;
    for (; j + 16 <= count && kept + 16 <= room; j += 16) {
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
    if (j + 16 > count)
        for (; j < count && kept < room; ++j) {
            const float far = least[j] - 2 * products[j];
            if (far <= bound) places[kept] = static_cast<std::int32_t>(j), values[kept++] = far;
        }
    *found = kept;
    return j;
}
