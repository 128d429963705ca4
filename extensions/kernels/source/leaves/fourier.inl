// Many Fourier transforms side by side: a lane each. Included once per instruction set; see dispatch.hpp.
//
// A block holds `n` rows of two registers, the real parts and the imaginary parts of as many columns as a register has
// lanes. All is done forwards; who wants the inverse swaps real and imaginary parts on the way in and on the way out.

template <typename T>
struct Columns {
    typedef T values __attribute__((vector_size(sizeof(floats)), may_alias));
    static constexpr int count = sizeof(floats) / sizeof(T);
};

static int column_bytes() { return sizeof(floats); }

template <typename V>
static WORKBENCH_INLINE void times(V& re, V& im, V by_re, V by_im) {
    const V old = re;
    re = old * by_re - im * by_im;
    im = old * by_im + im * by_re;
}

// The transform of R values in place; `roots` are those of unity for n points, `step` of them apart make those for R.
template <int R, typename V, typename T>
struct Butterfly {
    static_assert(R % 2 == 1, "the even ones are written out");
    static WORKBENCH_INLINE void run(V* re, V* im, const T* roots, std::int64_t step) {
        constexpr int half = R / 2;
        V sum_re[half], sum_im[half], difference_re[half], difference_im[half];
        const V first_re = re[0], first_im = im[0];
        for (int j = 1; j <= half; ++j) {
            sum_re[j - 1] = re[j] + re[R - j], sum_im[j - 1] = im[j] + im[R - j];
            difference_re[j - 1] = re[j] - re[R - j], difference_im[j - 1] = im[j] - im[R - j];
            re[0] += sum_re[j - 1], im[0] += sum_im[j - 1];
        }
        for (int k = 1; k <= half; ++k) {
            V even_re = first_re, even_im = first_im, odd_re = first_re - first_re, odd_im = odd_re;
            for (int j = 1; j <= half; ++j) {
                const T cosine = roots[2 * step * (j * k % R)], sine = roots[2 * step * (j * k % R) + 1];
                even_re += cosine * sum_re[j - 1], even_im += cosine * sum_im[j - 1];
                odd_re += sine * difference_im[j - 1], odd_im += sine * difference_re[j - 1];
            }
            re[k] = even_re - odd_re, im[k] = even_im + odd_im;
            re[R - k] = even_re + odd_re, im[R - k] = even_im - odd_im;
        }
    }
};

template <typename V, typename T>
struct Butterfly<2, V, T> {
    static WORKBENCH_INLINE void run(V* re, V* im, const T*, std::int64_t) {
        const V a = re[0], b = im[0];
        re[0] = a + re[1], im[0] = b + im[1];
        re[1] = a - re[1], im[1] = b - im[1];
    }
};

template <typename V, typename T>
struct Butterfly<4, V, T> {
    static WORKBENCH_INLINE void run(V* re, V* im, const T*, std::int64_t) {
        const V a_re = re[0] + re[2], a_im = im[0] + im[2], b_re = re[0] - re[2], b_im = im[0] - im[2];
        const V c_re = re[1] + re[3], c_im = im[1] + im[3], d_re = re[1] - re[3], d_im = im[1] - im[3];
        re[0] = a_re + c_re, im[0] = a_im + c_im;
        re[1] = b_re + d_im, im[1] = b_im - d_re;
        re[2] = a_re - c_re, im[2] = a_im - c_im;
        re[3] = b_re - d_im, im[3] = b_im + d_re;
    }
};

template <typename V, typename T>
struct Butterfly<8, V, T> {
    static WORKBENCH_INLINE void run(V* re, V* im, const T* roots, std::int64_t step) {
        V even_re[4] = {re[0], re[2], re[4], re[6]}, even_im[4] = {im[0], im[2], im[4], im[6]};
        V odd_re[4] = {re[1], re[3], re[5], re[7]}, odd_im[4] = {im[1], im[3], im[5], im[7]};
        Butterfly<4, V, T>::run(even_re, even_im, roots, step);
        Butterfly<4, V, T>::run(odd_re, odd_im, roots, step);
        const T diagonal = T(0.70710678118654752440);
        const V one_re = odd_re[1], one_im = odd_im[1], three_re = odd_re[3], three_im = odd_im[3], two = odd_re[2];
        odd_re[1] = diagonal * (one_re + one_im), odd_im[1] = diagonal * (one_im - one_re);
        odd_re[2] = odd_im[2], odd_im[2] = -two;
        odd_re[3] = diagonal * (three_im - three_re), odd_im[3] = -diagonal * (three_re + three_im);
        for (int k = 0; k < 4; ++k) {
            re[k] = even_re[k] + odd_re[k], im[k] = even_im[k] + odd_im[k];
            re[k + 4] = even_re[k] - odd_re[k], im[k + 4] = even_im[k] - odd_im[k];
        }
    }
};

// One pass of Stockham's transform, which needs no reordering: `stride` transforms of `n` points become R times as many
// of n / R points. `roots` are those of unity for n · stride points.
template <int R, typename T>
static void fourier_pass(const T* from, T* to, std::int64_t n, std::int64_t stride, const T* roots) {
    typedef typename Columns<T>::values V;
    const V* x = reinterpret_cast<const V*>(from);
    V* y = reinterpret_cast<V*>(to);
    const std::int64_t m = n / R;
    for (std::int64_t p = 0; p < m; ++p) {
        for (std::int64_t q = 0; q < stride; ++q) {
            V re[R], im[R];
            for (int k = 0; k < R; ++k) {
                const std::int64_t at = 2 * (q + stride * (p + m * k));
                re[k] = x[at], im[k] = x[at + 1];
            }
            Butterfly<R, V, T>::run(re, im, roots, m * stride);
            V* out = y + 2 * (q + stride * R * p);
            out[0] = re[0], out[1] = im[0];
            for (int k = 1; k < R; ++k) {
                const T* root = roots + 2 * stride * p * k;
                if (p) times(re[k], im[k], V{} + root[0], V{} + root[1]);
                out[2 * stride * k] = re[k], out[2 * stride * k + 1] = im[k];
            }
        }
    }
}

// Transforms the columns of the block `x`, with the help of `other`; returns which of the two holds the result.
template <typename T>
static T* fourier_columns(T* x, T* other, std::int64_t n, const std::int64_t* radices, const T* roots) {
    for (std::int64_t left = n, stride = 1; left > 1; ++radices) {
        switch (*radices) {
            case 2: fourier_pass<2>(x, other, left, stride, roots); break;
            case 3: fourier_pass<3>(x, other, left, stride, roots); break;
            case 4: fourier_pass<4>(x, other, left, stride, roots); break;
            case 5: fourier_pass<5>(x, other, left, stride, roots); break;
            case 7: fourier_pass<7>(x, other, left, stride, roots); break;
            default: fourier_pass<8>(x, other, left, stride, roots); break;
        }
        left /= *radices, stride *= *radices;
        T* const done = other;
        other = x, x = done;
    }
    return x;
}

// Reads `across` columns of interleaved complex numbers, whose rows lie `row` numbers apart, into a block.
template <typename T>
static void fourier_read(const T* from, std::int64_t row, std::int64_t n, std::int64_t across, bool swapped, T* block) {
    constexpr int count = Columns<T>::count;
    T *re = block + (swapped ? count : 0), *im = block + (swapped ? 0 : count);
    for (std::int64_t i = 0; i < n; ++i, from += 2 * row, re += 2 * count, im += 2 * count) {
        if (across == count) {
            for (int j = 0; j < count; ++j) re[j] = from[2 * j], im[j] = from[2 * j + 1];
        } else {
            for (int j = 0; j < count; ++j) re[j] = j < across ? from[2 * j] : T(0), im[j] = j < across ? from[2 * j + 1] : T(0);
        }
    }
}

// Writes a block's columns as interleaved complex numbers times `scale`.
template <typename T>
static void fourier_write(const T* block, std::int64_t row, std::int64_t n, std::int64_t across, bool swapped, T scale, T* to) {
    constexpr int count = Columns<T>::count;
    const T *re = block + (swapped ? count : 0), *im = block + (swapped ? 0 : count);
    for (std::int64_t i = 0; i < n; ++i, to += 2 * row, re += 2 * count, im += 2 * count) {
        if (across == count) {
            for (int j = 0; j < count; ++j) to[2 * j] = scale * re[j], to[2 * j + 1] = scale * im[j];
        } else {
            for (int j = 0; j < across; ++j) to[2 * j] = scale * re[j], to[2 * j + 1] = scale * im[j];
        }
    }
}

#if defined(__clang__)
#define WORKBENCH_EXCHANGE(V, a, b, step, low, high)                                                       \
    for (int lane = 0; lane < count; ++lane) {                                                              \
        low[lane] = lane & step ? b[lane - step] : a[lane], high[lane] = lane & step ? b[lane] : a[lane + step]; \
    }
#else
#define WORKBENCH_EXCHANGE(V, a, b, step, low, high)                             \
    low = __builtin_shuffle(a, b, (lane & step) ? count + lane - step : lane);   \
    high = __builtin_shuffle(a, b, (lane & step) ? count + lane : lane + step);
#endif

// Turns a square of lanes over: what was lane j of row i is lane i of row j.
template <typename T, typename V>
static WORKBENCH_INLINE void turn_over(V* rows) {
    constexpr int count = Columns<T>::count;
#if !defined(__clang__)
    typedef decltype(V{} < V{}) Lanes;
    Lanes lane;
    for (int i = 0; i < count; ++i) lane[i] = i;
#endif
    for (int step = 1; step < count; step *= 2)
        for (int i = 0; i < count; ++i)
            if (!(i & step)) {
                const V a = rows[i], b = rows[i + step];
                V low, high;
                WORKBENCH_EXCHANGE(V, a, b, step, low, high)
                rows[i] = low, rows[i + step] = high;
            }
}
#undef WORKBENCH_EXCHANGE

// Multiplies a block by roots[i] · fine[i][lane] and hands it on turned over: the squares of rows, `square` numbers apart,
// are rows of other blocks.
template <typename T>
static void fourier_turn(const T* block, std::int64_t n, const T* roots, const T* fine, std::int64_t square, T* to) {
    typedef typename Columns<T>::values V;
    constexpr int count = Columns<T>::count;
    const V* x = reinterpret_cast<const V*>(block);
    const V* w = reinterpret_cast<const V*>(fine);
    for (std::int64_t top = 0; top < n; top += count, to += square) {
        V re[count], im[count];
        for (int i = 0; i < count; ++i) {
            const std::int64_t at = top + i;
            if (at < n) {
                re[i] = x[2 * at], im[i] = x[2 * at + 1];
                times(re[i], im[i], V{} + roots[2 * at], V{} + roots[2 * at + 1]);
                times(re[i], im[i], w[2 * at], w[2 * at + 1]);
            } else {
                re[i] = im[i] = V{};
            }
        }
        turn_over<T>(re);
        turn_over<T>(im);
        V* out = reinterpret_cast<V*>(to);
        for (int j = 0; j < count; ++j) out[2 * j] = re[j], out[2 * j + 1] = im[j];
    }
}

#define WORKBENCH_FOURIER(T, suffix)                                                                                      \
    static T* columns_##suffix(T* x, T* other, std::int64_t n, const std::int64_t* radices, const T* roots) {             \
        return fourier_columns(x, other, n, radices, roots);                                                              \
    }                                                                                                                     \
    static void read_##suffix(const T* from, std::int64_t row, std::int64_t n, std::int64_t across, bool swapped,         \
                              T* block) {                                                                                 \
        fourier_read(from, row, n, across, swapped, block);                                                               \
    }                                                                                                                     \
    static void write_##suffix(const T* block, std::int64_t row, std::int64_t n, std::int64_t across, bool swapped,       \
                               T scale, T* to) {                                                                          \
        fourier_write(block, row, n, across, swapped, scale, to);                                                         \
    }                                                                                                                     \
    static void turn_##suffix(const T* block, std::int64_t n, const T* roots, const T* fine, std::int64_t square, T* to) { \
        fourier_turn(block, n, roots, fine, square, to);                                                                  \
    }
WORKBENCH_FOURIER(float, float)
WORKBENCH_FOURIER(double, double)
#undef WORKBENCH_FOURIER
