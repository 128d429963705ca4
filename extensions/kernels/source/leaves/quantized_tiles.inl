// The loops of quantized.inl where AMX multiplies 16 outputs by 64 bytes by 16 channels at once; see tiles.hpp.
//
// The weights of a panel are in the order that tiles want, as they lie for VNNI: sixteen steps of a block are a tile, whose
// rows are steps. Two times two tiles of sums stay in registers, so that what is loaded is multiplied twice.

#define WORKBENCH_LOAD_TILE(tile, from, step) \
    asm volatile("tileloadd (%0,%1,1), %%tmm" #tile : : "r"(from), "r"(static_cast<std::int64_t>(step)) : "memory")
#define WORKBENCH_STORE_TILE(tile, to, step) \
    asm volatile("tilestored %%tmm" #tile ", (%0,%1,1)" : : "r"(to), "r"(static_cast<std::int64_t>(step)) : "memory")
// Bytes without sign of the second by bytes with sign of the third are added to the first.
#define WORKBENCH_ADD_TILES(sums, bytes, weights) asm volatile("tdpbusd %%tmm" #weights ", %%tmm" #bytes ", %%tmm" #sums : : : "memory")

// Sums that wait to become results, some outputs at a time, while the tiles that come next are multiplied: those units are others.
struct TileResults {
    const QuantizedPanel& panel;
    const QuantizedRows& rows;
    const QuantizedTarget& target;
    std::int64_t channels;  // between outputs, where they go
    const std::int32_t* sums;
    std::int64_t left, y, x;  // outputs, and where the next one is
};

template <int blocks>
static __attribute__((noinline)) void finish_some(TileResults& results, std::int64_t most) {
    const QuantizedRows& rows = results.rows;
    for (std::int64_t left = most < results.left ? most : results.left; left > 0;) {
        // Outputs that lie side by side, up to a few; or corners that are nobody's output.
        const std::int64_t end = results.x < rows.width ? rows.width : rows.across;
        std::int64_t count = end - results.x < left ? end - results.x : left;
        if (results.x < rows.width) {
            constexpr std::int64_t together = 4;
            count = count < together ? count : together;
            __m512i own[together * blocks];
            for (std::int64_t i = 0; i < count; ++i)
                for (int b = 0; b < blocks; ++b)
                    own[i * blocks + b] = _mm512_add_epi32(_mm512_load_si512(results.sums + 16 * (i * blocks + b)),
                                                           _mm512_loadu_si512(results.panel.start + 16 * b));
            const std::int64_t at = results.y * rows.width + results.x;
            if (results.target.bytes)
                for (std::int64_t i = 0; i < count; ++i) __builtin_prefetch(results.target.bytes + (at + i + 32) * results.channels, 1);
            finish<blocks>(results.panel, own, count, results.target, at, results.channels);
        }
        left -= count, results.left -= count, results.sums += 16 * blocks * count, results.x += count;
        if (results.x == rows.across) results.x = 0, ++results.y;
    }
}

// Sums of 16 or 32 outputs, `tall` tiles, for `wide` blocks of the panel from `block` on; after each step `some` of the results
// before them are finished.
template <int tall, int wide, int blocks>
static WORKBENCH_INLINE void tile_products(const QuantizedPanel& panel, int block, const std::uint8_t* bytes, std::int64_t step,
                                           const std::int32_t* offsets, std::int32_t* sums, TileResults& before, std::int64_t some) {
    constexpr std::int64_t line = 64 * blocks;  // of weights of a step, and of sums of an output
    asm volatile("tilezero %%tmm0" : : : "memory");
    if constexpr (wide == 2) asm volatile("tilezero %%tmm1" : : : "memory");
    if constexpr (tall == 2) asm volatile("tilezero %%tmm2" : : : "memory");
    if constexpr (tall == 2 && wide == 2) asm volatile("tilezero %%tmm3" : : : "memory");
    const std::int8_t* weights = panel.weights + 64 * block;
    const std::int64_t steps = panel.steps;
    for (std::int64_t first = 0; first < steps; first += 16, weights += 16 * line) {
        const std::uint8_t* const from = bytes + offsets[first];
        WORKBENCH_LOAD_TILE(4, from, step);
        WORKBENCH_LOAD_TILE(6, weights, line);
        WORKBENCH_ADD_TILES(0, 4, 6);
        if constexpr (tall == 2) {
            WORKBENCH_LOAD_TILE(5, from + 16 * step, step);
            WORKBENCH_ADD_TILES(2, 5, 6);
        }
        if constexpr (wide == 2) {
            WORKBENCH_LOAD_TILE(7, weights + 64, line);
            WORKBENCH_ADD_TILES(1, 4, 7);
        }
        if constexpr (tall == 2 && wide == 2) WORKBENCH_ADD_TILES(3, 5, 7);
        if (before.left) finish_some<blocks>(before, some);
    }
    std::int32_t* const to = sums + 16 * block;
    WORKBENCH_STORE_TILE(0, to, line);
    if constexpr (wide == 2) WORKBENCH_STORE_TILE(1, to + 16, line);
    if constexpr (tall == 2) WORKBENCH_STORE_TILE(2, to + 16 * 16 * blocks, line);
    if constexpr (tall == 2 && wide == 2) WORKBENCH_STORE_TILE(3, to + 16 * 16 * blocks + 16, line);
}

template <int tall, int blocks>
static WORKBENCH_INLINE void tile_outputs(const QuantizedPanel& panel, const QuantizedRows& rows, std::int64_t first,
                                          std::int32_t* sums, TileResults& before) {
    const std::uint8_t* const bytes = rows.bytes + first * rows.step;
    const std::int64_t steps = (panel.steps + 15) / 16 * ((blocks + 1) / 2), some = (before.left + steps - 1) / steps;
    if constexpr (blocks >= 2) tile_products<tall, 2, blocks>(panel, 0, bytes, rows.step, rows.offsets, sums, before, some);
    if constexpr (blocks == 4) tile_products<tall, 2, blocks>(panel, 2, bytes, rows.step, rows.offsets, sums, before, some);
    if constexpr (blocks % 2) tile_products<tall, 1, blocks>(panel, blocks - 1, bytes, rows.step, rows.offsets, sums, before, some);
}

template <int blocks>
static WORKBENCH_INLINE void all_tiles(const QuantizedPanel& panel, const QuantizedRows& rows, std::int64_t channels,
                                       const QuantizedTarget& target) {
    alignas(64) std::int32_t sums[2][32 * 16 * blocks];
    TileResults results{panel, rows, target, channels, nullptr, 0, 0, 0};
    int turn = 0;
    for (std::int64_t at = rows.first; at < rows.last; at += 32, turn ^= 1) {
        const std::int64_t left = rows.last - at;
        const std::int64_t high = left > 16 ? 32 : 16;
        // The last tiles end with the last output, so that nothing behind it is read: those before it are computed again.
        const std::int64_t first = left < high && rows.last >= high ? rows.last - high : at;
        if (high == 32)
            tile_outputs<2, blocks>(panel, rows, first, sums[turn], results);
        else
            tile_outputs<1, blocks>(panel, rows, first, sums[turn], results);
        results.sums = sums[turn] + (at - first) * 16 * blocks, results.left = left < high ? left : high;
        results.y = at / rows.across, results.x = at % rows.across;
    }
    finish_some<blocks>(results, results.left);
}

// All of `rows`, for the channels of a panel; outputs lie `channels` apart where they go.
static void quantized_tiles(const QuantizedPanel& panel, const QuantizedRows& rows, std::int64_t channels,
                            const QuantizedTarget& target) {
    switch (panel.blocks) {
        case 1: return all_tiles<1>(panel, rows, channels, target);
        case 2: return all_tiles<2>(panel, rows, channels, target);
        case 3: return all_tiles<3>(panel, rows, channels, target);
        default: return all_tiles<4>(panel, rows, channels, target);
    }
}

// The bytes that outputs first..first + count of a plane meet, run after run, `step` bytes for each output. Runs are as long as
// `run` steps; zeros follow the last one to the end of its tile.
static void gather_tiles(const QuantizedPlane& plane, const QuantizedPanel& panel, std::int64_t run, std::int64_t first,
                         std::int64_t count, std::uint8_t* to, std::int64_t step) {
    const std::int64_t bytes = 4 * run;
    const __mmask64 last = bytes % 64 ? (__mmask64{1} << bytes % 64) - 1 : ~__mmask64{0};
    std::int64_t y = first / plane.width, x = first % plane.width;
    for (std::int64_t i = 0; i < count; ++i, to += step) {
        const std::uint8_t* const corner = plane.image + panel.input + y * plane.row_step + x * plane.pixel_step;
        std::uint8_t* next = to;
        for (std::int64_t s = 0; s < panel.steps; s += run, next += bytes) {
            const std::uint8_t* const from = corner + panel.offsets[s];
            std::int64_t k = 0;
            for (; k + 64 < bytes; k += 64) _mm512_storeu_si512(next + k, _mm512_loadu_si512(from + k));
            _mm512_storeu_si512(next + k, _mm512_maskz_loadu_epi8(last, from + k));
        }
        if (++x == plane.width) x = 0, ++y;
    }
}
