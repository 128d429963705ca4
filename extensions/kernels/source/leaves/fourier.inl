// Many Fourier transforms side by side: a lane each. Included once per instruction set; see dispatch.hpp.
//
// A block holds `n` rows of two registers, the real parts and the imaginary parts of as many columns as a register has
// lanes. All is done forwards; who wants the inverse swaps real and imaginary parts on the way in and on the way out. Passes
// are in place and leave the rows in an order of their own (decimation in frequency); who reads them afterwards has a table.

template <typename T>
struct Columns {
    typedef T values __attribute__((vector_size(sizeof(floats)), may_alias));
    static constexpr int count = sizeof(floats) / sizeof(T);
};

static int column_bytes() { return sizeof(floats); }

// As numbers that stand in memory one after another, at multiples of their own size only.
template <typename T>
struct Unaligned {
    typedef T values __attribute__((vector_size(sizeof(floats)), aligned(sizeof(T)), may_alias));
};
template <typename T>
static WORKBENCH_INLINE typename Columns<T>::values fourier_load(const T* from) {
    return (typename Columns<T>::values) * reinterpret_cast<const typename Unaligned<T>::values*>(from);
}
template <typename T>
static WORKBENCH_INLINE void fourier_store(T* to, typename Columns<T>::values values) {
    *reinterpret_cast<typename Unaligned<T>::values*>(to) = (typename Unaligned<T>::values)values;
}

// `W` is one number for all lanes, or one for each.
template <typename V, typename W>
static WORKBENCH_INLINE void times(V& re, V& im, W by_re, W by_im) {
    const V old = re;
    re = old * by_re - im * by_im;
    im = old * by_im + im * by_re;
}

// cos and -sin of the angles 2πj / R, known when this is compiled.
template <int R, typename T>
struct Angles {
    T cosine[R], sine[R];
    constexpr Angles() : cosine(), sine() {
        for (int j = 0; j < R; ++j) {
            const double angle = 6.283185307179586476925 * (2 * j > R ? j - R : j) / R;
            double even = 1, odd = angle, cosine_sum = 1, sine_sum = angle;
            for (int k = 1; k < 24; ++k) {
                even *= -angle * angle / (2 * k * (2 * k - 1)), odd *= -angle * angle / (2 * k * (2 * k + 1));
                cosine_sum += even, sine_sum += odd;
            }
            cosine[j] = static_cast<T>(cosine_sum), sine[j] = static_cast<T>(-sine_sum);
        }
    }
};

// The transform of R values in place.
template <int R, typename V, typename T>
struct Butterfly {
    static_assert(R % 2 == 1, "the even ones are written out");
    static WORKBENCH_INLINE void run(V* re, V* im) {
        constexpr int half = R / 2;
        constexpr Angles<R, T> angles;
        V sum_re[half], sum_im[half], difference_re[half], difference_im[half];
        const V first_re = re[0], first_im = im[0];
        for (int j = 1; j <= half; ++j) {
            sum_re[j - 1] = re[j] + re[R - j], sum_im[j - 1] = im[j] + im[R - j];
            difference_re[j - 1] = re[j] - re[R - j], difference_im[j - 1] = im[j] - im[R - j];
            re[0] += sum_re[j - 1], im[0] += sum_im[j - 1];
        }
        for (int k = 1; k <= half; ++k) {
            V even_re = first_re, even_im = first_im;
            V odd_re = angles.sine[k] * difference_im[0], odd_im = angles.sine[k] * difference_re[0];
            even_re += angles.cosine[k] * sum_re[0], even_im += angles.cosine[k] * sum_im[0];
            for (int j = 2; j <= half; ++j) {
                const T cosine = angles.cosine[j * k % R], sine = angles.sine[j * k % R];
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
    static WORKBENCH_INLINE void run(V* re, V* im) {
        const V a = re[0], b = im[0];
        re[0] = a + re[1], im[0] = b + im[1];
        re[1] = a - re[1], im[1] = b - im[1];
    }
};

template <typename V, typename T>
struct Butterfly<4, V, T> {
    static WORKBENCH_INLINE void run(V* re, V* im) {
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
    static WORKBENCH_INLINE void run(V* re, V* im) {
        V even_re[4] = {re[0], re[2], re[4], re[6]}, even_im[4] = {im[0], im[2], im[4], im[6]};
        V odd_re[4] = {re[1], re[3], re[5], re[7]}, odd_im[4] = {im[1], im[3], im[5], im[7]};
        Butterfly<4, V, T>::run(even_re, even_im);
        Butterfly<4, V, T>::run(odd_re, odd_im);
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

// One pass in place over `blocks` transforms, each of R · apart rows: transform j of its values that are `apart` from each
// other goes where value j lay, and is turned by a root of unity. What was one transform is then R of `apart` rows.
template <int R, bool last, typename T>
static void fourier_pass(T* values, std::int64_t blocks, std::int64_t apart, const T* roots) {
    typedef typename Columns<T>::values V;
    V* x = reinterpret_cast<V*>(values);
    for (; blocks > 0; --blocks, x += 2 * R * apart) {
        const T* root = roots;
        for (std::int64_t p = 0; p < apart; ++p, root += 2 * (R - 1)) {
            V re[R], im[R];
            for (int k = 0; k < R; ++k) re[k] = x[2 * (p + apart * k)], im[k] = x[2 * (p + apart * k) + 1];
            Butterfly<R, V, T>::run(re, im);
            x[2 * p] = re[0], x[2 * p + 1] = im[0];
            for (int k = 1; k < R; ++k) {
                // The last pass has rows one apart, whose roots are all 1.
                if (!last) times(re[k], im[k], root[2 * k - 2], root[2 * k - 1]);
                x[2 * (p + apart * k)] = re[k], x[2 * (p + apart * k) + 1] = im[k];
            }
        }
    }
}

template <int R, typename T>
static WORKBENCH_INLINE void fourier_pass_of(T* x, std::int64_t blocks, const FourierLevel<T>* level) {
    if (level->apart == 1)
        fourier_pass<R, true>(x, blocks, 1, level->roots);
    else
        fourier_pass<R, false>(x, blocks, level->apart, level->roots);
}

template <typename T>
static void fourier_level(T* x, std::int64_t blocks, const FourierLevel<T>* level) {
    switch (level->radix) {
        case 2: fourier_pass_of<2>(x, blocks, level); break;
        case 3: fourier_pass_of<3>(x, blocks, level); break;
        case 4: fourier_pass_of<4>(x, blocks, level); break;
        case 5: fourier_pass_of<5>(x, blocks, level); break;
        case 7: fourier_pass_of<7>(x, blocks, level); break;
        case 11: fourier_pass_of<11>(x, blocks, level); break;
        case 13: fourier_pass_of<13>(x, blocks, level); break;
        default: fourier_pass_of<8>(x, blocks, level); break;
    }
}

// Transforms the columns of a block in place; the rows come out in the order that the plan knows. What outgrows the first
// cache takes one pass and goes on part by part, so that each part stays there until it is done.
template <typename T>
static void fourier_columns(T* x, const FourierLevel<T>* level, const FourierLevel<T>* end) {
    constexpr std::int64_t near = 32768;
    if (level == end) return;
    const std::int64_t row = 2 * Columns<T>::count;
    if (level->radix * level->apart * row * static_cast<std::int64_t>(sizeof(T)) > near) {
        fourier_level(x, 1, level);
        for (std::int64_t part = 0; part < level->radix; ++part)
            fourier_columns(x + part * level->apart * row, level + 1, end);
        return;
    }
    for (std::int64_t blocks = 1; level != end; blocks *= level->radix, ++level) fourier_level(x, blocks, level);
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

#if defined(__clang__)
#define WORKBENCH_APART(a, b, re, im)                                                                                  \
    for (int i = 0; i < count; ++i) {                                                                                  \
        re[i] = 2 * i < count ? a[2 * i] : b[2 * i - count];                                                           \
        im[i] = 2 * i < count ? a[2 * i + 1] : b[2 * i + 1 - count];                                                   \
    }
#define WORKBENCH_TOGETHER(re, im, a, b)                                                                               \
    for (int i = 0; i < count; ++i) {                                                                                  \
        a[i] = i % 2 ? im[i / 2] : re[i / 2];                                                                          \
        b[i] = i % 2 ? im[(i + count) / 2] : re[(i + count) / 2];                                                      \
    }
#else
#define WORKBENCH_APART(a, b, re, im) re = __builtin_shuffle(a, b, 2 * lane), im = __builtin_shuffle(a, b, 2 * lane + 1);
#define WORKBENCH_TOGETHER(re, im, a, b)                                         \
    a = __builtin_shuffle(re, im, (lane >> 1) + (lane & 1) * count);             \
    b = __builtin_shuffle(re, im, (lane >> 1) + (lane & 1) * count + count / 2);
#endif
#if defined(__clang__)
#define WORKBENCH_LANES(V)
#else
#define WORKBENCH_LANES(V)              \
    typedef decltype(V{} < V{}) Lanes;  \
    Lanes lane;                         \
    for (int i = 0; i < count; ++i) lane[i] = i;
#endif

// Reads `across` columns of interleaved complex numbers, whose rows lie `row` numbers apart, into a block; swapped, real
// and imaginary parts change places.
template <typename T>
static void fourier_read(const T* from, std::int64_t row, std::int64_t n, std::int64_t across, bool swapped, T* block) {
    typedef typename Columns<T>::values V;
    constexpr int count = Columns<T>::count;
    WORKBENCH_LANES(V)
    V* to = reinterpret_cast<V*>(block);
    for (std::int64_t i = 0; i < n; ++i, from += 2 * row, to += 2) {
        V re, im;
        if (across == count) {
            const V a = fourier_load(from), b = fourier_load(from + count);
            WORKBENCH_APART(a, b, re, im)
        } else {
            re = im = V{};
            for (int j = 0; j < across; ++j) re[j] = from[2 * j], im[j] = from[2 * j + 1];
        }
        to[swapped] = re, to[!swapped] = im;
    }
}

// Writes a block's rows, in the given order and times `scale`, as interleaved complex numbers.
template <typename T>
static void fourier_write(const T* block, const std::int32_t* order, std::int64_t row, std::int64_t n, std::int64_t across,
                          bool swapped, T scale, T* to) {
    typedef typename Columns<T>::values V;
    constexpr int count = Columns<T>::count;
    WORKBENCH_LANES(V)
    const V* x = reinterpret_cast<const V*>(block);
    for (std::int64_t i = 0; i < n; ++i, to += 2 * row) {
        const V re = x[2 * order[i] + swapped] * scale, im = x[2 * order[i] + !swapped] * scale;
        if (across == count) {
            V a, b;
            WORKBENCH_TOGETHER(re, im, a, b)
            fourier_store(to, a);
            fourier_store(to + count, b);
        } else {
            for (int j = 0; j < across; ++j) to[2 * j] = re[j], to[2 * j + 1] = im[j];
        }
    }
}
#undef WORKBENCH_LANES
#undef WORKBENCH_APART
#undef WORKBENCH_TOGETHER

// Reads `across` rows of n interleaved complex numbers, that lie `row` numbers apart, into the columns of a block. Columns
// that nobody asked for hold the last row again.
template <typename T>
static void fourier_read_rows(const T* from, std::int64_t row, std::int64_t n, std::int64_t across, bool swapped, T* block) {
    typedef typename Columns<T>::values V;
    constexpr int count = Columns<T>::count;
    constexpr std::int64_t width = count / 2;
    for (std::int64_t next = 0; n >= width && next < n; next += width) {
        // The last square may lie over the one before: it does again what that one did.
        const std::int64_t first = next + width <= n ? next : n - width;
        V values[count];
        for (int j = 0; j < count; ++j) values[j] = fourier_load(from + 2 * ((j < across ? j : across - 1) * row + first));
        turn_over<T>(values);
        V* to = reinterpret_cast<V*>(block) + 2 * first;
        for (int i = 0; i < width; ++i) to[2 * i + swapped] = values[2 * i], to[2 * i + !swapped] = values[2 * i + 1];
    }
    if (n >= width) return;
    for (std::int64_t i = 0; i < n; ++i)
        for (int j = 0; j < count; ++j) {
            const T* at = from + 2 * ((j < across ? j : across - 1) * row + i);
            block[(2 * i + swapped) * count + j] = at[0], block[(2 * i + !swapped) * count + j] = at[1];
        }
}

// Writes the columns of a block, whose rows are taken in the given order, as rows of interleaved complex numbers.
template <typename T>
static void fourier_write_rows(const T* block, const std::int32_t* order, std::int64_t row, std::int64_t n,
                               std::int64_t across, bool swapped, T scale, T* to) {
    typedef typename Columns<T>::values V;
    constexpr int count = Columns<T>::count;
    const V* x = reinterpret_cast<const V*>(block);
    constexpr std::int64_t width = count / 2;
    for (std::int64_t next = 0; n >= width && next < n; next += width) {
        const std::int64_t first = next + width <= n ? next : n - width;
        V values[count];
        for (int i = 0; i < width; ++i) {
            const V* at = x + 2 * (order ? order[first + i] : first + i);
            values[2 * i] = at[swapped] * scale, values[2 * i + 1] = at[!swapped] * scale;
        }
        turn_over<T>(values);
        for (int j = 0; j < across; ++j) fourier_store(to + 2 * (j * row + first), values[j]);
    }
    if (n >= width) return;
    for (std::int64_t i = 0; i < n; ++i)
        for (int j = 0; j < across; ++j) {
            const std::int64_t at = 2 * (order ? order[i] : i);
            to[2 * (j * row + i)] = scale * block[(at + swapped) * count + j];
            to[2 * (j * row + i) + 1] = scale * block[(at + !swapped) * count + j];
        }
}

// From the transform Z of z_t = x_2t + i·x_2t+1 to twice that of x: with E = Z_k + conj Z_m-k and O = -i(Z_k - conj Z_m-k),
// X_k = E + ω^k·O and X_m-k = conj(E - ω^k·O), where ω is the root of unity for 2m points. `V` is a number or one of each
// column.
template <typename V, typename T>
static WORKBENCH_INLINE void fourier_unpack_pair(V a_re, V a_im, V b_re, V b_im, T root_re, T root_im, V* low, V* high) {
    V odd_re = a_im + b_im, odd_im = b_re - a_re;
    times(odd_re, odd_im, root_re, root_im);
    const V even_re = a_re + b_re, even_im = a_im - b_im;
    // Read before anything is written: they may be the same place.
    low[0] = even_re + odd_re, low[1] = even_im + odd_im;
    high[0] = even_re - odd_re, high[1] = odd_im - even_im;
}

// The way back: E = X_k + conj X_m-k, O = conj ω^k (X_k - conj X_m-k), Z_k = E + i·O, Z_m-k = conj E + i·conj O.
template <typename V, typename T>
static WORKBENCH_INLINE void fourier_pack_pair(V a_re, V a_im, V b_re, V b_im, T root_re, T root_im, V* low, V* high,
                                               bool swapped) {
    V odd_re = a_re - b_re, odd_im = a_im + b_im;
    times(odd_re, odd_im, root_re, -root_im);
    const V even_re = a_re + b_re, even_im = a_im - b_im;
    low[swapped] = even_re - odd_im, low[!swapped] = even_im + odd_re;
    high[swapped] = even_re + odd_im, high[!swapped] = odd_re - even_im;
}

// All pairs of a block of m rows in the given order, into one of m + 1 rows.
template <typename T>
static void fourier_unpack(const T* block, const std::int32_t* order, std::int64_t m, const T* roots, T* to) {
    typedef typename Columns<T>::values V;
    const V* x = reinterpret_cast<const V*>(block);
    V* out = reinterpret_cast<V*>(to);
    for (std::int64_t k = 0; 2 * k <= m; ++k) {
        const V *a = x + 2 * order[k], *b = x + 2 * order[k ? m - k : 0];
        fourier_unpack_pair(a[0], a[1], b[0], b[1], roots[2 * k], roots[2 * k + 1], out + 2 * k, out + 2 * (m - k));
    }
}

// A block of m + 1 rows to one of m, with real and imaginary parts swapped. The imaginary parts of the first and the last row
// are not looked at: those of real values have none.
template <typename T>
static void fourier_pack(T* block, std::int64_t m, const T* roots) {
    typedef typename Columns<T>::values V;
    V* x = reinterpret_cast<V*>(block);
    x[1] = x[2 * m + 1] = V{};
    for (std::int64_t k = 0; 2 * k <= m; ++k)
        fourier_pack_pair(x[2 * k], x[2 * k + 1], x[2 * (m - k)], x[2 * (m - k) + 1], roots[2 * k], roots[2 * k + 1], x + 2 * k,
                          x + 2 * (m - k), true);
}

// The same of one long row, for the pairs from `begin` to `end`.
template <typename T>
static void fourier_unpack_flat(const T* x, std::int64_t m, const T* roots, std::int64_t begin, std::int64_t end, T scale, T* to) {
    for (std::int64_t k = begin; k < end; ++k) {
        const T *a = x + 2 * k, *b = x + 2 * (k ? m - k : 0);
        fourier_unpack_pair(scale * a[0], scale * a[1], scale * b[0], scale * b[1], roots[2 * k], roots[2 * k + 1], to + 2 * k,
                            to + 2 * (m - k));
    }
}
template <typename T>
static void fourier_pack_flat(const T* x, std::int64_t m, const T* roots, std::int64_t begin, std::int64_t end, T* to) {
    for (std::int64_t k = begin; k < end; ++k) {
        const T *a = x + 2 * k, *b = x + 2 * (m - k);
        T low[2], high[2];
        fourier_pack_pair(a[0], k ? a[1] : T(0), b[0], k ? b[1] : T(0), roots[2 * k], roots[2 * k + 1], low, high, false);
        to[2 * k] = low[0], to[2 * k + 1] = low[1];
        // Frequency 0 has no twin among the m.
        if (k) to[2 * (m - k)] = high[0], to[2 * (m - k) + 1] = high[1];
    }
}

// Takes a block's rows in the given order, multiplies row i by roots[i] · fine[i][lane] and hands them on turned over: the
// squares of rows, `square` numbers apart, are rows of other blocks.
template <typename T>
static void fourier_turn(const T* block, const std::int32_t* order, std::int64_t n, const T* roots, const T* fine,
                         std::int64_t square, T* to) {
    typedef typename Columns<T>::values V;
    constexpr int count = Columns<T>::count;
    const V* x = reinterpret_cast<const V*>(block);
    const V* w = reinterpret_cast<const V*>(fine);
    for (std::int64_t top = 0; top < n; top += count, to += square) {
        V re[count], im[count];
        for (int i = 0; i < count; ++i) {
            const std::int64_t at = top + i;
            if (at < n) {
                re[i] = x[2 * order[at]], im[i] = x[2 * order[at] + 1];
                times(re[i], im[i], roots[2 * at], roots[2 * at + 1]);
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

// What fourier.cpp calls, of both precisions.
template <typename T>
struct FourierLeaves {
    static constexpr auto columns = fourier_columns<T>;
    static constexpr auto read = fourier_read<T>;
    static constexpr auto write = fourier_write<T>;
    static constexpr auto read_rows = fourier_read_rows<T>;
    static constexpr auto write_rows = fourier_write_rows<T>;
    static constexpr auto unpack = fourier_unpack<T>;
    static constexpr auto pack = fourier_pack<T>;
    static constexpr auto unpack_flat = fourier_unpack_flat<T>;
    static constexpr auto pack_flat = fourier_pack_flat<T>;
    static constexpr auto turn = fourier_turn<T>;
};
