// One tile of a product of matrices, and the packing that lets it read what lies together. Included once per instruction set;
// see dispatch.hpp.

template <typename T>
struct Tile {
    typedef T values __attribute__((vector_size(sizeof(floats)), may_alias));
    typedef T anywhere __attribute__((vector_size(sizeof(floats)), aligned(sizeof(T)), may_alias));
    static constexpr int count = sizeof(floats) / sizeof(T);
    // As many sums as fit the registers beside what is read: a row of a tile is two registers.
#ifdef WORKBENCH_AVX512
    static constexpr int rows = 12;
#else
    static constexpr int rows = 6;
#endif
    static constexpr int columns = 2 * count;
};

template <typename T>
static std::int64_t tile_rows() { return Tile<T>::rows; }
template <typename T>
static std::int64_t tile_columns() { return Tile<T>::columns; }

// Packs `count` vectors of `depth` values as [depth][width], zeros where there are fewer vectors than the tile is wide.
template <typename T>
static void pack_panel(const T* from, std::int64_t between, std::int64_t along, std::int64_t count, std::int64_t width,
                       std::int64_t depth, T* to) {
    if (count < width)
        for (std::int64_t i = 0; i < depth * width; ++i) to[i] = T(0);
    if (between == 1) {
        for (std::int64_t k = 0; k < depth; ++k)
            for (std::int64_t j = 0; j < count; ++j) to[k * width + j] = from[k * along + j];
    } else {
        // Eight values of each vector at a time: what is read and what is written stay in the cache.
        for (std::int64_t first = 0; first < depth; first += 8) {
            const std::int64_t last = first + 8 < depth ? first + 8 : depth;
            for (std::int64_t j = 0; j < count; ++j)
                for (std::int64_t k = first; k < last; ++k) to[k * width + j] = from[j * between + k * along];
        }
    }
}

// out (+)= the product of two packed panels of `depth`; `rows` and `columns` of the tile are there.
template <typename T>
static void multiply_tile(const T* a, const T* b, std::int64_t depth, std::int64_t rows, std::int64_t columns, bool add, T* out,
                          std::int64_t row) {
    typedef typename Tile<T>::values V;
    typedef typename Tile<T>::anywhere U;
    constexpr int tall = Tile<T>::rows, count = Tile<T>::count;
    V sums[tall][2];
#pragma GCC unroll 12
    for (int i = 0; i < tall; ++i) sums[i][0] = sums[i][1] = V{};
    for (std::int64_t k = 0; k < depth; ++k, a += tall, b += 2 * count) {
        const V left = *reinterpret_cast<const V*>(b), right = *reinterpret_cast<const V*>(b + count);
#pragma GCC unroll 12
        for (int i = 0; i < tall; ++i) sums[i][0] += a[i] * left, sums[i][1] += a[i] * right;
    }
    if (rows == tall && columns == 2 * count) {
#pragma GCC unroll 12
        for (int i = 0; i < tall; ++i) {
            U *left = reinterpret_cast<U*>(out + i * row), *right = reinterpret_cast<U*>(out + i * row + count);
            if (add) sums[i][0] += (V)*left, sums[i][1] += (V)*right;
            *left = (U)sums[i][0], *right = (U)sums[i][1];
        }
        return;
    }
    V kept[tall][2];
#pragma GCC unroll 12
    for (int i = 0; i < tall; ++i) kept[i][0] = sums[i][0], kept[i][1] = sums[i][1];
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
            const T sum = reinterpret_cast<const T*>(kept[i])[j];
            out[i * row + j] = add ? out[i * row + j] + sum : sum;
        }
}

// out[rows, columns] (+)= panels of a [.., depth, tall] times panels of b [.., depth, wide].
template <typename T>
static void multiply_panels(const T* a, const T* b, std::int64_t depth, std::int64_t rows, std::int64_t columns, bool add, T* out,
                            std::int64_t row) {
    constexpr std::int64_t tall = Tile<T>::rows, wide = Tile<T>::columns;
    for (std::int64_t j = 0; j < columns; j += wide)
        for (std::int64_t i = 0; i < rows; i += tall)
            multiply_tile(a + i * depth, b + j * depth, depth, rows - i < tall ? rows - i : tall,
                          columns - j < wide ? columns - j : wide, add, out + i * row + j, row);
}

template <typename T>
struct ProductLeaves {
    static constexpr auto tall = tile_rows<T>;
    static constexpr auto wide = tile_columns<T>;
    static constexpr auto pack = pack_panel<T>;
    static constexpr auto multiply = multiply_panels<T>;
};
