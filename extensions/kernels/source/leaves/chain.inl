// The interpreter of chains. Included once per instruction set; see dispatch.hpp and ../compiled/chain.hpp.
#include "functions.inl"
#include "counter_based_random.inl"
#include "elementwise_functions.inl"
#include "parametric_functions.inl"
#include "double_functions.inl"
#include "logarithms.inl"
#include "chain_functions.inl"

constexpr int group_registers = 8;

// Registers of T, and whether T is a real number.
template <typename T>
struct Register;
template <>
struct Register<float> {
    typedef floats Type;
    static constexpr bool real = true;
};
template <>
struct Register<double> {
    typedef doubles Type;
    static constexpr bool real = true;
};
template <>
struct Register<std::int32_t> {
    typedef ints Type;
    static constexpr bool real = false;
};
template <>
struct Register<std::int64_t> {
    typedef longs Type;
    static constexpr bool real = false;
};
template <typename T>
constexpr std::int64_t group_size = group_registers * sizeof(typename Register<T>::Type) / sizeof(T);

template <typename T>
static WORKBENCH_INLINE typename Register<T>::Type taken(const T* from) {
    typename Register<T>::Type v;
    __builtin_memcpy(&v, from, sizeof v);
    return v;
}
template <typename T>
static WORKBENCH_INLINE void put(T* to, typename Register<T>::Type v) {
    __builtin_memcpy(to, &v, sizeof v);
}
static WORKBENCH_INLINE void stream_bytes(void* to, const void* from) {  // a register; aligned
#if defined(WORKBENCH_AVX512)
    __m512i v;
    __builtin_memcpy(&v, from, sizeof v);
    _mm512_stream_si512(static_cast<__m512i*>(to), v);
#elif defined(WORKBENCH_AVX2)
    __m256i v;
    __builtin_memcpy(&v, from, sizeof v);
    _mm256_stream_si256(static_cast<__m256i*>(to), v);
#else
    __builtin_memcpy(to, from, sizeof(floats));
#endif
}

// What a seed draws for the places of a group: the hash's start of the first register's places.
struct Drawing {
    uints first;
    std::uint32_t key;
    std::int64_t seed;  // that the rest was made of

    WORKBENCH_INLINE void begin(std::int64_t place) {
        const CounterBasedRandom random(static_cast<std::uint64_t>(seed));
        first = RandomNumbers(random, static_cast<std::uint32_t>(place), 1).first, key = random.key;
    }
    WORKBENCH_INLINE void go(std::uint32_t places) { first += places * golden_ratio; }
    WORKBENCH_INLINE uints at(int i) const { return drawn(first + static_cast<std::uint32_t>(i * lanes) * golden_ratio, key); }
};

// Runs the code on `groups` groups, one after the other. `slots` point to the first: operands are read there, results written.
// Those that `moving` lists go on by a group each time, and so does what `seeds` draw; the others stay.
template <typename T>
static void chain_groups(const compiled::Instruction* const start, T** slots, const int* moving, int movings, const int* seeds, int draws,
                         std::int64_t groups, bool streamed) {
    typedef typename Register<T>::Type V;
    constexpr bool real = Register<T>::real;
    constexpr int lanes_of = sizeof(V) / sizeof(T);
    const V none = V{}, one = V{} + static_cast<T>(1);
    V x[group_registers];
    const compiled::Instruction* code = start;
// All eight registers, by what each becomes of itself and of the operands at its place.
#define WORKBENCH_EACH(...)                                  \
    _Pragma("GCC unroll 8") for (int i = 0; i < group_registers; ++i) { \
        const V v = x[i];                                    \
        (void)v;                                             \
        __VA_ARGS__;                                         \
    }                                                        \
    break;
#define WORKBENCH_A taken(a + lanes_of * i)
#define WORKBENCH_B taken(b + lanes_of * i)
    for (;; ++code) {
        T* const a = slots[code->slots[0]];
        T* const b = slots[code->slots[1]];
        using compiled::Operation;
        switch (code->operation) {
            case Operation::load: WORKBENCH_EACH(x[i] = WORKBENCH_A)
            case Operation::store:
                if (__builtin_expect(streamed && reinterpret_cast<std::uintptr_t>(a) % sizeof(V) == 0, 0)) {
                    WORKBENCH_EACH(stream_bytes(a + lanes_of * i, &v))
                }
                WORKBENCH_EACH(put(a + lanes_of * i, v))
            case Operation::neg: WORKBENCH_EACH(x[i] = -v)
            case Operation::abs: WORKBENCH_EACH(x[i] = without_sign(v))
            case Operation::sign: WORKBENCH_EACH(x[i] = v > none ? one : (v < none ? -one : none))
            case Operation::relu: WORKBENCH_EACH(x[i] = v < none ? none : v)
            case Operation::add: WORKBENCH_EACH(x[i] = v + WORKBENCH_A)
            case Operation::sub: WORKBENCH_EACH(x[i] = v - WORKBENCH_A)
            case Operation::reversed_sub: WORKBENCH_EACH(x[i] = WORKBENCH_A - v)
            case Operation::mul: WORKBENCH_EACH(x[i] = v * WORKBENCH_A)
            // NaN wins.
            case Operation::maximum: WORKBENCH_EACH(x[i] = larger_or_nan(v, WORKBENCH_A))
            case Operation::minimum: WORKBENCH_EACH(x[i] = lesser_or_nan(v, WORKBENCH_A))
            case Operation::eq: WORKBENCH_EACH(x[i] = v == WORKBENCH_A ? one : none)
            case Operation::ne: WORKBENCH_EACH(x[i] = v != WORKBENCH_A ? one : none)
            case Operation::lt: WORKBENCH_EACH(x[i] = v < WORKBENCH_A ? one : none)
            case Operation::le: WORKBENCH_EACH(x[i] = v <= WORKBENCH_A ? one : none)
            case Operation::gt: WORKBENCH_EACH(x[i] = v > WORKBENCH_A ? one : none)
            case Operation::ge: WORKBENCH_EACH(x[i] = v >= WORKBENCH_A ? one : none)
            case Operation::clamp:  // NaN stays; where the bounds cross, the upper one holds
                WORKBENCH_EACH(const V p = WORKBENCH_A; const V q = WORKBENCH_B; const V above = v < p ? p : v;
                               x[i] = above > q ? q : above)
            case Operation::choose: WORKBENCH_EACH(const V p = WORKBENCH_A; const V q = WORKBENCH_B; x[i] = v != none ? p : q)
            case Operation::keep_where: WORKBENCH_EACH(const V q = WORKBENCH_B; x[i] = WORKBENCH_A != none ? v : q)
            case Operation::replace_where: WORKBENCH_EACH(const V q = WORKBENCH_B; x[i] = WORKBENCH_A != none ? q : v)
            case Operation::div:
                if constexpr (real) { WORKBENCH_EACH(x[i] = v / WORKBENCH_A) }
                break;
            case Operation::reversed_div:
                if constexpr (real) { WORKBENCH_EACH(x[i] = WORKBENCH_A / v) }
                break;
            case Operation::sqrt:
                if constexpr (real) { WORKBENCH_EACH(x[i] = square_root(v)) }
                break;
            case Operation::floor:
                if constexpr (real) { WORKBENCH_EACH(x[i] = whole<Rounding::down>(v)) }
                break;
            case Operation::ceil:
                if constexpr (real) { WORKBENCH_EACH(x[i] = whole<Rounding::up>(v)) }
                break;
            case Operation::trunc:
                if constexpr (real) { WORKBENCH_EACH(x[i] = whole<Rounding::towards_zero>(v)) }
                break;
            case Operation::round:
                if constexpr (real) { WORKBENCH_EACH(x[i] = whole<Rounding::to_nearest>(v)) }
                break;
            case Operation::prelu:
                if constexpr (real) { WORKBENCH_EACH(x[i] = v > none ? v : v * WORKBENCH_A) }
                break;
            // Two roundings, as of a product and a sum that run one after the other.
            case Operation::multiply_add:
                if constexpr (real) { WORKBENCH_EACH(x[i] = rounded(v * WORKBENCH_A) + WORKBENCH_B) }
                break;
            case Operation::round_to_bfloat16:
                if constexpr (sizeof(T) == 4 && real) { WORKBENCH_EACH(x[i] = widened(narrowed(v))) }
                break;
            case Operation::drop:
                if constexpr (real && sizeof(T) == sizeof(float)) {
                    const Drawing& drawing = *reinterpret_cast<const Drawing*>(a);
                    const std::uint64_t least = (static_cast<std::uint64_t>(b[0]) << 16) + static_cast<std::uint64_t>(slots[code->slots[2]][0]);
                    const V high = all(slots[code->slots[3]][0]);
                    WORKBENCH_EACH(x[i] = v * chosen(drawing.at(i), least, high, none))
                }
                break;
            case Operation::end:
                if (--groups == 0) return;
                for (int i = 0; i < movings; ++i) slots[moving[i]] += group_size<T>;
                for (int i = 0; i < draws; ++i) reinterpret_cast<Drawing*>(slots[seeds[i]])->go(group_size<T>);
                code = start - 1;
                break;
            default:
                if constexpr (real) {
                    alignas(64) T values[group_registers * lanes_of];
                    _Pragma("GCC unroll 8") for (int i = 0; i < group_registers; ++i) put(values + lanes_of * i, x[i]);
                    chain_function(code->operation, values, a, b, slots[code->slots[2]], slots[code->slots[3]]);
                    _Pragma("GCC unroll 8") for (int i = 0; i < group_registers; ++i) x[i] = taken(values + lanes_of * i);
                }
        }
    }
#undef WORKBENCH_EACH
#undef WORKBENCH_A
#undef WORKBENCH_B
}

// ------------------------------------------------------------------------------------- to and from memory

template <typename S, typename T>
static WORKBENCH_INLINE void convert(const S* from, std::int64_t step, std::int64_t count, T* to) {
    if (step == 0) {
        const T one = static_cast<T>(from[0]);
        for (std::int64_t i = 0; i < count; ++i) to[i] = one;
    } else if (step == 1) {
        for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(from[i]);
    } else {
        for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(from[i * step]);
    }
}
// `from` is where the value stands that is `offset` values away.
template <typename T>
static void take_values(compiled::Storage storage, const void* from, std::int64_t offset, std::int64_t step, std::int64_t count, T* to) {
    using compiled::Storage;
    switch (storage) {
        case Storage::quint8: case Storage::qint8: break;  // refused when it is made
        case Storage::boolean: convert(static_cast<const unsigned char*>(from) + offset, step, count, to); break;
        case Storage::bfloat16: convert(static_cast<const bfloat16*>(from) + offset, step, count, to); break;
        case Storage::int32: convert(static_cast<const std::int32_t*>(from) + offset, step, count, to); break;
        case Storage::int64: convert(static_cast<const std::int64_t*>(from) + offset, step, count, to); break;
        case Storage::float32: convert(static_cast<const float*>(from) + offset, step, count, to); break;
        case Storage::float64: convert(static_cast<const double*>(from) + offset, step, count, to); break;
    }
}
template <typename T>
static void put_values(compiled::Storage storage, const T* from, std::int64_t count, void* to, std::int64_t offset) {
    using compiled::Storage;
    switch (storage) {
        case Storage::quint8: case Storage::qint8: break;
        case Storage::boolean: {
            unsigned char* out = static_cast<unsigned char*>(to) + offset;
            for (std::int64_t i = 0; i < count; ++i) out[i] = from[i] != T(0);
            break;
        }
        case Storage::bfloat16: {
            bfloat16* out = static_cast<bfloat16*>(to) + offset;
            for (std::int64_t i = 0; i < count; ++i) out[i] = bfloat16(static_cast<float>(from[i]));
            break;
        }
        case Storage::int32: convert(from, 1, count, static_cast<std::int32_t*>(to) + offset); break;
        case Storage::int64: convert(from, 1, count, static_cast<std::int64_t*>(to) + offset); break;
        case Storage::float32: convert(from, 1, count, static_cast<float*>(to) + offset); break;
        case Storage::float64: convert(from, 1, count, static_cast<double*>(to) + offset); break;
    }
}

// Where a value stands among the dims, slow to fast.
struct Place {
    std::int64_t at[compiled::most_dims];

    void go(const compiled::ChainView& chain, std::int64_t steps) {
        std::int64_t carry = steps;
        for (int dim = chain.dims - 1; dim >= 0 && carry; --dim) {
            at[dim] += carry;
            if (at[dim] < chain.sizes[dim]) return;
            carry = at[dim] / chain.sizes[dim];
            at[dim] -= carry * chain.sizes[dim];
        }
    }
    std::int64_t offset(const compiled::ChainView& chain, const std::int64_t* steps) const {
        std::int64_t sum = 0;
        for (int dim = 0; dim < chain.dims; ++dim) sum += at[dim] * steps[dim];
        return sum;
    }
};

// Brings the values of an input from `place` on into a group, piece by piece as they lie in a row.
template <typename T>
static void gather(const compiled::ChainView& chain, int input, const void* from, Place place, std::int64_t count, T* to) {
    const std::int64_t* steps = chain.steps + input * chain.dims;
    const int last = chain.dims - 1;
    for (std::int64_t done = 0;;) {
        const std::int64_t left = chain.sizes[last] - place.at[last], piece = left < count - done ? left : count - done;
        take_values(chain.types[input], from, place.offset(chain, steps), steps[last], piece, to + done);
        done += piece;
        if (done == count) return;
        place.go(chain, piece);
    }
}

// Values `first` to `last` of the results, in the order in which these lie. As many groups as can do so run at once: those of a
// row, where every input is there as it is read, or the same for the row.
template <typename T>
static void chain_run(const compiled::ChainView& chain, const void* const* inputs, void* const* outputs, std::int64_t first,
                      std::int64_t last) {
    constexpr std::int64_t size = group_size<T>;
    alignas(64) char memory[compiled::most_slots * compiled::group_bytes];
    T* slots[compiled::most_slots];
    int moving[compiled::most_slots];
    const int given = chain.inputs + chain.outputs, all_slots = given + chain.constants + chain.temporaries, row = chain.dims - 1;
    const auto own = [&](int slot) { return reinterpret_cast<T*>(memory + slot * compiled::group_bytes); };
    for (int i = 0; i < all_slots; ++i) slots[i] = own(i);
    for (int i = 0; i < chain.constants; ++i)
        slots[given + i] = reinterpret_cast<T*>(const_cast<char*>(chain.constant_values) + i * compiled::group_bytes);

    bool is_seed[compiled::most_slots] = {};
    for (int i = 0; i < chain.draws; ++i) {
        const int seed = chain.seeds[i];
        is_seed[seed] = true;
        __builtin_memcpy(&reinterpret_cast<Drawing*>(own(seed))->seed, inputs[seed], sizeof(std::int64_t));
    }

    Place place = {};
    place.go(chain, first);
    for (std::int64_t at = first; at < last;) {
        std::int64_t count = last - at < size ? last - at : size;
        const bool full = count == size;
        const std::int64_t in_row = chain.sizes[row] - place.at[row];
        // How many groups run before anything but `moving` has to change.
        std::int64_t groups = full ? (last - at) / size : 1;
        int movings = 0;
        for (int i = 0; i < chain.inputs; ++i) {
            if (is_seed[i]) {
                reinterpret_cast<Drawing*>(own(i))->begin(at);
                continue;
            }
            const std::int64_t* steps = chain.steps + i * chain.dims;
            const bool own_type = chain.types[i] == chain.type;
            if (full && (chain.whole[i] || (own_type && steps[row] == 1 && in_row >= size))) {
                slots[i] = const_cast<T*>(static_cast<const T*>(inputs[i])) + (chain.whole[i] ? at : place.offset(chain, steps));
                moving[movings++] = i;
                if (!chain.whole[i] && groups > in_row / size) groups = in_row / size;
                continue;
            }
            slots[i] = own(i);
            if (chain.single[i]) {
                if (at == first) take_values(chain.types[i], inputs[i], 0, 0, size, own(i));
                continue;
            }
            if (!full)  // what stands behind the end is computed with, and nobody looks at it
                for (std::int64_t j = count; j < size; ++j) own(i)[j] = T(0);
            gather(chain, i, inputs[i], place, count, own(i));
            const std::int64_t most = steps[row] == 0 && in_row >= size ? in_row / size : 1;
            if (groups > most) groups = most;
        }
        for (int i = chain.inputs; i < given; ++i) {
            const bool direct = full && chain.types[i] == chain.type;
            slots[i] = direct ? static_cast<T*>(outputs[i - chain.inputs]) + at : own(i);
            if (direct)
                moving[movings++] = i;
            else
                groups = 1;
        }
        chain_groups(chain.code, slots, moving, movings, chain.seeds, chain.draws, groups, chain.streamed && full);
        count = full ? groups * size : count;
        for (int i = chain.inputs; i < given; ++i)
            if (!full || chain.types[i] != chain.type) put_values(chain.types[i], own(i), count, outputs[i - chain.inputs], at);
        place.go(chain, count);
        at += count;
    }
    if (chain.streamed) streams_done();
}
