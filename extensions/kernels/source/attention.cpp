// Attention in float32, and of bfloat16 in float32: whoever computes a head widens it, and rounds once what comes out.
// Weights are never kept: a block of rows is computed in the cache, and computed again for the gradient. Heads may lie
// anywhere in memory, so that nothing is copied between a projection and its heads.
#include "attention.hpp"

#include <algorithm>
#include <atomic>
#include <optional>

#include "counter_based_random.hpp"
#include "engine.hpp"
#define WORKBENCH_LEAVES "leaves/attention.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

template <typename T>
using Optional = std::optional<Input<T>>;

// Where a row of an array begins, rows counted over all dims but the last.
std::int64_t place_of(std::int64_t row, const Dims& shape, const Dims& strides) {
    std::int64_t place = 0;
    for (std::size_t i = shape.size() - 1; i-- > 0; row /= shape[i]) place += row % shape[i] * strides[i];
    return place;
}

// Floats row by row, of bfloat16 of which the values of a row lie beside each other.
void widen(const bfloat16* from, const Dims& shape, const Dims& strides, float* to) {
    const std::int64_t width = shape.back(), rows = width ? count_of(shape) / width : 0;
    parallel_for(rows, grain_for(width), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row)
            LEAF_WIDE(cast_run<bfloat16, float>)(from + place_of(row, shape, strides), width, to + row * width, false);
    });
}

// Rows of a head, as its products take them.
struct Rows {
    const float* data;
    std::int64_t leading;

    const float* at(std::int64_t row) const { return data + row * leading; }
};

// So many rows of a head, for as long as `room` is there.
Rows rows_of(const float* head, std::int64_t leading, std::int64_t, std::int64_t, Buffer<float>&) { return {head, leading}; }
Rows rows_of(const bfloat16* head, std::int64_t leading, std::int64_t rows, std::int64_t width, Buffer<float>& room) {
    room = Buffer<float>(rows * width);  // from the pool, which keeps it near
    if (leading == width) {
        LEAF_WIDE(cast_run<bfloat16, float>)(head, rows * width, room.data(), false);
    } else {
        for (std::int64_t i = 0; i < rows; ++i)
            LEAF_WIDE(cast_run<bfloat16, float>)(head + i * leading, width, room.data() + i * width, false);
    }
    return {room.data(), width};
}

// Rows of each head: [N, H, L, E] with any strides but for the last dimension.
template <typename T>
struct Heads {
    Dims shape, strides;
    const T* data;
    Buffer<T> copy;

    explicit Heads(const Input<T>& array) : shape(checked(shape_of(array))), strides(strides_of(array)), data(array.data()) {
        if ((strides[3] != 1 && shape[3] > 1) || (strides[2] < shape[3] && shape[2] > 1)) {
            const Dims dense = row_major_strides(shape);
            copy = Buffer<T>(count_of(shape));
            copy_strided(copy.data(), dense, data, shape, strides);
            data = copy.data(), strides = dense;
        }
    }
    explicit Heads(const HeadsInPlace& heads) : shape(heads.shape), strides(heads.strides), data(heads.data) {}
    static Dims checked(Dims shape) {
        if (shape.size() != 4) refuse("attention takes [N, H, L, E], got shape " + text(shape));
        count_of(shape);
        return shape;
    }
    // `count` rows of a head from `first` on; what has to be widened is put into `room`.
    Rows rows(std::int64_t head, std::int64_t first, std::int64_t count, Buffer<float>& room) const {
        const std::int64_t leading = std::max(strides[2], shape[3]);
        const T* begin = data + head / shape[1] * strides[0] + head % shape[1] * strides[1] + first * leading;
        return rows_of(begin, leading, count, shape[3], room);
    }
    Rows rows(std::int64_t head, Buffer<float>& room) const { return rows(head, 0, shape[2], room); }
};

// Where rows of heads are written: the values of a row lie beside each other.
template <typename T>
struct Places {
    Dims shape, strides;
    T* data;

    T* at(std::int64_t head) const { return data + head / shape[1] * strides[0] + head % shape[1] * strides[1]; }
    std::int64_t leading() const { return std::max(strides[2], shape[3]); }
};
Places<float> places(const HeadsInPlace& heads) { return {heads.shape, heads.strides, heads.data}; }

// A new array for rows of heads, which lie in memory as those of `like` do: the values of a row beside each other, whatever
// the strides say of a dimension that is stretched (stride 0) or has one entry (any stride).
template <typename T>
struct NewHeads {
    Dims shape, strides;
    Output<T> out;

    NewHeads(const Dims& wanted, Dims like)
        : shape(wanted), strides((like[3] = 0, dense_strides_like(wanted, like))), out(wanted, strides) {}
    Places<T> places() const { return {shape, strides, out.data()}; }
};

// Where rows of a head are summed up: where they belong, or in floats of their own until the last sum is there.
template <typename T>
class Sums {
   public:
    Sums(const Places<T>& heads, std::int64_t most) : heads_(heads) {
        if constexpr (std::is_same_v<T, bfloat16>) room_ = Buffer<float>(most * heads.shape[3]);
    }
    void begin(std::int64_t head, std::int64_t first) {
        to_ = heads_.at(head) + first * heads_.leading();
    }
    float* data() const {
        if constexpr (std::is_same_v<T, bfloat16>) return room_.data();
        else return to_;
    }
    std::int64_t leading() const { return std::is_same_v<T, bfloat16> ? heads_.shape[3] : heads_.leading(); }
    void finish(std::int64_t rows) const {
        if constexpr (std::is_same_v<T, bfloat16>)
            for (std::int64_t i = 0; i < rows; ++i)
                LEAF_WIDE(cast_run<float, bfloat16>)(room_.data() + i * leading(), leading(), to_ + i * heads_.leading(), false);
    }

   private:
    const Places<T>& heads_;
    T* to_ = nullptr;
    Buffer<float> room_;
};

// Numbers added to the scores: [N, H, L, S], stretched where a size is 1.
struct Mask {
    Dims steps{0, 0, 0};
    const float* data = nullptr;

    Buffer<float> copy;

    explicit Mask(const HeadsInPlace& mask) : data(mask.data) {
        for (std::size_t i = 0; data && i < 3; ++i) steps[i] = mask.shape[i] == 1 ? 0 : mask.strides[i];
    }
    template <typename T>
    Mask(const Optional<T>& mask, const Dims& scores) {
        if (!mask) return;
        const Dims shape = shape_of(*mask);
        Dims strides = strides_of(*mask);
        bool fits = shape.size() == 4 && shape[3] == scores[3] && (strides[3] == 1 || shape[3] == 1);
        for (std::size_t i = 0; fits && i < 3; ++i) fits = shape[i] == 1 || shape[i] == scores[i];
        if (!fits) refuse("attention mask has shape " + text(shape) + "; expected one that stretches to " + text(scores));
        if constexpr (std::is_same_v<T, bfloat16>) {
            const Dims dense = row_major_strides(shape);
            Buffer<bfloat16> laid;
            const bfloat16* from = mask->data();
            if (strides[3] != 1 && shape[3] > 1) {
                laid = Buffer<bfloat16>(count_of(shape));
                copy_strided(laid.data(), dense, from, shape, strides);
                from = laid.data(), strides = dense;
            }
            copy = Buffer<float>(count_of(shape));
            widen(from, shape, strides, copy.data());
            data = copy.data(), strides = dense;
        } else {
            data = mask->data();
        }
        for (std::size_t i = 0; i < 3; ++i) steps[i] = shape[i] == 1 ? 0 : strides[i];
    }
    const float* row(std::int64_t head, std::int64_t heads, std::int64_t row) const {
        return data ? data + head / heads * steps[0] + head % heads * steps[1] + row * steps[2] : nullptr;
    }
};

// Rows of scores that are worked on together: they stay in the cache.
std::int64_t rows_together(std::int64_t queries, std::int64_t keys) {
    const std::int64_t block = std::clamp<std::int64_t>(65536 / std::max<std::int64_t>(1, keys), 16, 256);
    return std::min(block, std::max<std::int64_t>(1, queries));
}

struct Problem {
    std::int64_t heads, all, queries, keys, width, values, block;
    bool causal;
    CounterBasedRandom random;
    float scale, kept;

    template <typename T>
    Problem(const Heads<T>& q, const Heads<T>& k, const Heads<T>& v, const Attending& how)
        : heads(q.shape[1]), all(q.shape[0] * q.shape[1]), queries(q.shape[2]), keys(k.shape[2]), width(q.shape[3]),
          values(v.shape[3]), causal(how.causal), random(how.seed, how.dropout), scale(static_cast<float>(how.scale)),
          kept(how.dropout < 1.0 ? static_cast<float>(1.0 / (1.0 - how.dropout)) : 0.f) {
        const Dims a = q.shape, b = k.shape, c = v.shape;
        if (a[0] != b[0] || a[1] != b[1] || a[3] != b[3] || c[0] != b[0] || c[1] != b[1] || c[2] != b[2])
            refuse("attention of shapes " + text(a) + ", " + text(b) + " and " + text(c));
        block = rows_together(queries, keys);
    }
    std::int64_t products() const { return all * queries * keys * (width + values); }
    std::int64_t visible(std::int64_t row) const { return causal ? std::min(keys, row + 1) : keys; }
    std::uint32_t place(std::int64_t head, std::int64_t row) const {
        return static_cast<std::uint32_t>((head * queries + row) * keys);
    }
};

bool multiply(char ta, char tb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const float* a, std::int64_t lda,
              const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc) {
    return dnnl_sgemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) == dnnl_success;
}

template <typename T>
void attend_heads(const Problem& p, const Heads<T>& q, const Heads<T>& k, const Heads<T>& v, const Mask& added, const Places<T>& y,
                  float* normals) {
    const std::int64_t blocks = (p.queries + p.block - 1) / p.block;
    std::atomic<bool> failed{false};
    parallel_for(p.all * blocks, std::max<std::int64_t>(1, 1000000 / std::max<std::int64_t>(1, p.block * p.keys * p.width)),
                 [&](std::int64_t begin, std::int64_t end) {
        const Buffer<float> scores(p.block * p.keys);
        Buffer<float> room_q, room_k, room_v;
        Sums<T> sums(y, p.block);
        Rows keys{}, values{};
        std::int64_t at = -1;
        for (std::int64_t task = begin; task < end; ++task) {
            const std::int64_t head = task / blocks, first = task % blocks * p.block;
            const std::int64_t rows = std::min(p.block, p.queries - first);
            const std::int64_t seen = p.visible(first + rows - 1);
            if (at != head) keys = k.rows(head, room_k), values = v.rows(head, room_v), at = head;
            const Rows own = q.rows(head, first, rows, room_q);
            sums.begin(head, first);
            bool good = multiply('N', 'T', rows, seen, p.width, p.scale, own.data, own.leading, keys.data, keys.leading, 0.f,
                                 scores.data(), p.keys);
            for (std::int64_t i = 0; i < rows; ++i) {
                const float normal = LEAF_WIDE(attention_row)(scores.data() + i * p.keys, seen, p.visible(first + i),
                                                              added.row(head, p.heads, first + i), p.random,
                                                              p.place(head, first + i), p.kept);
                if (normals) normals[head * p.queries + first + i] = normal;
            }
            good = good && multiply('N', 'N', rows, p.values, seen, 1.f, scores.data(), p.keys, values.data, values.leading, 0.f,
                                    sums.data(), sums.leading());
            sums.finish(rows);
            if (!good) failed = true;
        }
    });
    if (failed) throw std::runtime_error("oneDNN's gemm failed");
}

template <typename T>
void attend_heads_gradient(const Problem& p, const Heads<T>& g, const Heads<T>& q, const Heads<T>& k, const Heads<T>& v,
                           const Heads<T>& y, const float* normals, const Mask& added, const Places<T>& dq, const Places<T>& dk,
                           const Places<T>& dv) {
    std::atomic<bool> failed{false};
    parallel_for(p.all, 1, [&](std::int64_t begin, std::int64_t end) {
        const Buffer<float> scores(p.block * p.keys), slopes(p.block * p.keys);
        Buffer<float> room_q, room_k, room_v, room_g, room_y;
        Sums<T> to_q(dq, p.queries), to_k(dk, p.keys), to_v(dv, p.keys);
        for (std::int64_t head = begin; head < end; ++head) {
            const Rows queries = q.rows(head, room_q), keys = k.rows(head, room_k), values = v.rows(head, room_v),
                       flows = g.rows(head, room_g), shown = y.rows(head, room_y);
            to_q.begin(head, 0), to_k.begin(head, 0), to_v.begin(head, 0);
            bool good = true;
            for (std::int64_t first = 0; first < p.queries; first += p.block) {
                const std::int64_t rows = std::min(p.block, p.queries - first);
                const float *own = queries.at(first), *flow = flows.at(first);
                good = good && multiply('N', 'T', rows, p.keys, p.width, p.scale, own, queries.leading, keys.data, keys.leading, 0.f,
                                        scores.data(), p.keys);
                good = good && multiply('N', 'T', rows, p.keys, p.values, 1.f, flow, flows.leading, values.data, values.leading, 0.f,
                                        slopes.data(), p.keys);
                for (std::int64_t i = 0; i < rows; ++i) {
                    const float delta = LEAF_WIDE(products_sum)(flows.at(first + i), shown.at(first + i), p.values);
                    LEAF_WIDE(attention_gradient_row)(scores.data() + i * p.keys, slopes.data() + i * p.keys, p.keys,
                                                      p.visible(first + i), added.row(head, p.heads, first + i),
                                                      normals[head * p.queries + first + i], delta, p.scale, p.random,
                                                      p.place(head, first + i), p.kept);
                }
                const float more = first ? 1.f : 0.f;
                good = good && multiply('N', 'N', rows, p.width, p.keys, 1.f, slopes.data(), p.keys, keys.data, keys.leading, 0.f,
                                        to_q.data() + first * to_q.leading(), to_q.leading());
                good = good && multiply('T', 'N', p.keys, p.width, rows, 1.f, slopes.data(), p.keys, own, queries.leading, more,
                                        to_k.data(), to_k.leading());
                good = good && multiply('T', 'N', p.keys, p.values, rows, 1.f, scores.data(), p.keys, flow, flows.leading, more,
                                        to_v.data(), to_v.leading());
            }
            to_q.finish(p.queries), to_k.finish(p.keys), to_v.finish(p.keys);
            if (!good) failed = true;
        }
    });
    if (failed) throw std::runtime_error("oneDNN's gemm failed");
}

template <typename T>
nb::object attention(const Input<T>& query, const Input<T>& key, const Input<T>& value, const Optional<T>& mask,
                     double scale, bool causal, double dropout, std::uint64_t seed) {
    const Heads<T> q(query), k(key), v(value);
    const Problem p(q, k, v, {scale, causal, dropout, seed});
    const Mask added(mask, Dims{q.shape[0], p.heads, p.queries, p.keys});
    NewHeads<T> y({q.shape[0], p.heads, p.queries, p.values}, strides_of(query));
    auto normals = Output<float>::row_major({q.shape[0], p.heads, p.queries});
    {
        KernelScope scope(p.products());
        attend_heads<T>(p, q, k, v, added, y.places(), normals.data());
    }
    return nb::make_tuple(y.out.to_python(), normals.to_python());
}

template <typename T>
nb::object attention_gradient(const Input<T>& gradient, const Input<T>& query, const Input<T>& key,
                              const Input<T>& value, const Input<T>& output, const Input<float>& normal,
                              const Optional<T>& mask, double scale, bool causal, double dropout, std::uint64_t seed) {
    const Heads<T> q(query), k(key), v(value), g(gradient), y(output);
    const Problem p(q, k, v, {scale, causal, dropout, seed});
    const Mask added(mask, Dims{q.shape[0], p.heads, p.queries, p.keys});
    if (g.shape != y.shape || y.shape != Dims{q.shape[0], p.heads, p.queries, p.values})
        refuse("attention gradient has shape " + text(g.shape) + ", the output " + text(y.shape));
    if (count_of(shape_of(normal)) != p.all * p.queries) refuse("attention normals have shape " + text(shape_of(normal)));
    NewHeads<T> dq(q.shape, strides_of(query)), dk(k.shape, strides_of(key)), dv(v.shape, strides_of(value));
    {
        KernelScope scope(2 * p.products());
        const auto normals = row_major(normal);
        attend_heads_gradient<T>(p, g, q, k, v, y, normals.data(), added, dq.places(), dk.places(), dv.places());
    }
    return nb::make_tuple(dq.out.to_python(), dk.out.to_python(), dv.out.to_python());
}

template <typename T>
void bind_in(nb::module_& module) {
    using nb::arg;
    module.def("attention", &attention<T>, arg("query").noconvert(), arg("key").noconvert(), arg("value").noconvert(),
               arg("mask").noconvert().none() = nb::none(), nb::kw_only(), arg("scale"), arg("causal"), arg("dropout"), arg("seed"));
    module.def("attention_gradient", &attention_gradient<T>, arg("gradient").noconvert(), arg("query").noconvert(),
               arg("key").noconvert(), arg("value").noconvert(), arg("output").noconvert(), arg("normal").noconvert(),
               arg("mask").noconvert().none() = nb::none(), nb::kw_only(), arg("scale"), arg("causal"), arg("dropout"), arg("seed"));
}

}  // namespace

void attend(const HeadsInPlace& query, const HeadsInPlace& key, const HeadsInPlace& value, const HeadsInPlace& mask,
            const Attending& how, const HeadsInPlace& out, float* normals) {
    const Heads<float> q(query), k(key), v(value);
    attend_heads<float>(Problem(q, k, v, how), q, k, v, Mask(mask), places(out), normals);
}

void attend_gradient(const HeadsInPlace& gradient, const HeadsInPlace& query, const HeadsInPlace& key, const HeadsInPlace& value,
                     const HeadsInPlace& output, const float* normals, const HeadsInPlace& mask, const Attending& how,
                     const HeadsInPlace& to_query, const HeadsInPlace& to_key, const HeadsInPlace& to_value) {
    const Heads<float> g(gradient), q(query), k(key), v(value), y(output);
    attend_heads_gradient<float>(Problem(q, k, v, how), g, q, k, v, y, normals, Mask(mask), places(to_query), places(to_key),
                                 places(to_value));
}

void bind_attention(nb::module_& module) {
    bind_in<float>(module);
    nb::module_ half = bfloat16_module(module);
    bind_in<bfloat16>(half);
}

}  // namespace workbench
