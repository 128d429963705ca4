// Attention in float32, and of bfloat16 in float32: widened on the way in, rounded once on the way out. Weights are never kept: a block of rows is computed in the cache, and computed again for the
// gradient. Heads may lie anywhere in memory, so that nothing is copied between a projection and its heads.
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

// Between bfloat16 in any layout and floats row by row.
void widen(const bfloat16* from, const Dims& shape, Dims strides, float* to) {
    const std::int64_t width = shape.back(), rows = width ? count_of(shape) / width : 0;
    Buffer<bfloat16> dense;
    if (strides.back() != 1 && width > 1) {
        dense = Buffer<bfloat16>(count_of(shape));
        const Dims order = row_major_strides(shape);
        copy_strided(dense.data(), order, from, shape, strides);
        from = dense.data(), strides = order;
    }
    parallel_for(rows, grain_for(width), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row)
            LEAF_WIDE(cast_run<bfloat16, float>)(from + place_of(row, shape, strides), width, to + row * width, false);
    });
}

void round_rows(const float* from, const Dims& shape, const Dims& strides, bfloat16* to) {
    const std::int64_t width = shape.back(), rows = width ? count_of(shape) / width : 0;
    parallel_for(rows, grain_for(width), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row)
            LEAF_WIDE(cast_run<float, bfloat16>)(from + row * width, width, to + place_of(row, shape, strides), false);
    });
}

// Rows of each head: [N, H, L, E] with any strides but for the last dimension.
struct Heads {
    Dims shape, strides;
    const float* data;
    Buffer<float> copy;

    explicit Heads(const Input<bfloat16>& array) : shape(checked(shape_of(array))), strides(row_major_strides(shape)) {
        copy = Buffer<float>(count_of(shape));
        widen(array.data(), shape, strides_of(array), copy.data());
        data = copy.data();
    }
    explicit Heads(const Input<float>& array)
        : shape(checked(shape_of(array))), strides(strides_of(array)), data(array.data()) {
        if ((strides[3] != 1 && shape[3] > 1) || (strides[2] < shape[3] && shape[2] > 1)) {
            const Dims dense = row_major_strides(shape);
            copy = Buffer<float>(count_of(shape));
            copy_strided(copy.data(), dense, data, shape, strides);
            data = copy.data(), strides = dense;
        }
    }
    static Dims checked(Dims shape) {
        if (shape.size() != 4) refuse("attention takes [N, H, L, E], got shape " + text(shape));
        count_of(shape);
        return shape;
    }
    const float* at(std::int64_t head) const {
        return data + head / shape[1] * strides[0] + head % shape[1] * strides[1];
    }
    std::int64_t leading() const { return std::max(strides[2], shape[3]); }
};

// A new array for rows of heads, which lie in memory as those of `like` do: the values of a row beside each other, whatever
// the strides say of a dimension that is stretched (stride 0) or has one entry (any stride).
template <typename T>
struct NewHeads;
template <>
struct NewHeads<float> {
    Dims shape, strides;
    Output<float> out;

    NewHeads(const Dims& wanted, Dims like)
        : shape(wanted), strides((like[3] = 0, dense_strides_like(wanted, like))), out(wanted, strides) {}
    float* at(std::int64_t head) { return out.data() + head / shape[1] * strides[0] + head % shape[1] * strides[1]; }
    std::int64_t leading() const { return std::max(strides[2], shape[3]); }
    void finish() {}
};
// Sums are floats until the last of them is there.
template <>
struct NewHeads<bfloat16> {
    Dims shape, strides;
    Output<bfloat16> out;
    Buffer<float> sums;

    NewHeads(const Dims& wanted, Dims like)
        : shape(wanted), strides((like[3] = 0, dense_strides_like(wanted, like))), out(wanted, strides), sums(count_of(wanted)) {}
    float* at(std::int64_t head) { return sums.data() + head * shape[2] * shape[3]; }
    std::int64_t leading() const { return shape[3]; }
    void finish() { round_rows(sums.data(), shape, strides, out.data()); }
};

// Numbers added to the scores: [N, H, L, S], stretched where a size is 1.
struct Mask {
    Dims steps{0, 0, 0};
    const float* data = nullptr;

    Buffer<float> copy;

    template <typename T>
    Mask(const Optional<T>& mask, const Dims& scores) {
        if (!mask) return;
        const Dims shape = shape_of(*mask);
        Dims strides = strides_of(*mask);
        bool fits = shape.size() == 4 && shape[3] == scores[3] && (strides[3] == 1 || shape[3] == 1);
        for (std::size_t i = 0; fits && i < 3; ++i) fits = shape[i] == 1 || shape[i] == scores[i];
        if (!fits) refuse("attention mask has shape " + text(shape) + "; expected one that stretches to " + text(scores));
        if constexpr (std::is_same_v<T, bfloat16>) {
            copy = Buffer<float>(count_of(shape));
            widen(mask->data(), shape, strides, copy.data());
            data = copy.data(), strides = row_major_strides(shape);
        } else {
            data = mask->data();
        }
        for (std::size_t i = 0; i < 3; ++i) steps[i] = shape[i] == 1 ? 0 : strides[i];
    }
    const float* row(std::int64_t head, std::int64_t heads, std::int64_t row) const {
        return data ? data + head / heads * steps[0] + head % heads * steps[1] + row * steps[2] : nullptr;
    }
};

struct Problem {
    std::int64_t heads, all, queries, keys, width, values, block;
    bool causal;
    CounterBasedRandom random;
    float kept;

    Problem(const Heads& q, const Heads& k, const Heads& v, bool causal, double dropout, std::uint64_t seed)
        : heads(q.shape[1]), all(q.shape[0] * q.shape[1]), queries(q.shape[2]), keys(k.shape[2]), width(q.shape[3]),
          values(v.shape[3]), causal(causal), random(seed, dropout),
          kept(dropout < 1.0 ? static_cast<float>(1.0 / (1.0 - dropout)) : 0.f) {
        const Dims a = q.shape, b = k.shape, c = v.shape;
        if (a[0] != b[0] || a[1] != b[1] || a[3] != b[3] || c[0] != b[0] || c[1] != b[1] || c[2] != b[2])
            refuse("attention of shapes " + text(a) + ", " + text(b) + " and " + text(c));
        block = std::clamp<std::int64_t>(65536 / std::max<std::int64_t>(1, keys), 16, 256);
        block = std::min(block, std::max<std::int64_t>(1, queries));
    }
    Dims scores(const Heads& q) const { return {q.shape[0], heads, queries, keys}; }
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
nb::object attention(const Input<T>& query, const Input<T>& key, const Input<T>& value, const Optional<T>& mask,
                     double scale, bool causal, double dropout, std::uint64_t seed) {
    const Heads q(query), k(key), v(value);
    const Problem p(q, k, v, causal, dropout, seed);
    const Mask added(mask, p.scores(q));
    NewHeads<T> y({q.shape[0], p.heads, p.queries, p.values}, strides_of(query));
    auto normals = Output<float>::row_major({q.shape[0], p.heads, p.queries});
    {
        KernelScope scope(p.products());
        const std::int64_t blocks = (p.queries + p.block - 1) / p.block;
        std::atomic<bool> failed{false};
        parallel_for(p.all * blocks, std::max<std::int64_t>(1, 1000000 / std::max<std::int64_t>(1, p.block * p.keys * p.width)),
                     [&](std::int64_t begin, std::int64_t end) {
            const Buffer<float> scores(p.block * p.keys);
            for (std::int64_t task = begin; task < end; ++task) {
                const std::int64_t head = task / blocks, first = task % blocks * p.block;
                const std::int64_t rows = std::min(p.block, p.queries - first);
                const std::int64_t seen = p.visible(first + rows - 1);
                bool good = multiply('N', 'T', rows, seen, p.width, static_cast<float>(scale), q.at(head) + first * q.leading(),
                                     q.leading(), k.at(head), k.leading(), 0.f, scores.data(), p.keys);
                for (std::int64_t i = 0; i < rows; ++i)
                    normals.data()[head * p.queries + first + i] = LEAF_WIDE(attention_row)(
                        scores.data() + i * p.keys, seen, p.visible(first + i), added.row(head, p.heads, first + i),
                        p.random, p.place(head, first + i), p.kept);
                good = good && multiply('N', 'N', rows, p.values, seen, 1.f, scores.data(), p.keys, v.at(head), v.leading(), 0.f,
                                        y.at(head) + first * y.leading(), y.leading());
                if (!good) failed = true;
            }
        });
        if (failed) throw std::runtime_error("oneDNN's gemm failed");
        y.finish();
    }
    return nb::make_tuple(y.out.to_python(), normals.to_python());
}

template <typename T>
nb::object attention_gradient(const Input<T>& gradient, const Input<T>& query, const Input<T>& key,
                              const Input<T>& value, const Input<T>& output, const Input<float>& normal,
                              const Optional<T>& mask, double scale, bool causal, double dropout, std::uint64_t seed) {
    const Heads q(query), k(key), v(value), g(gradient), y(output);
    const Problem p(q, k, v, causal, dropout, seed);
    const Mask added(mask, p.scores(q));
    if (g.shape != y.shape || y.shape != Dims{q.shape[0], p.heads, p.queries, p.values})
        refuse("attention gradient has shape " + text(g.shape) + ", the output " + text(y.shape));
    if (count_of(shape_of(normal)) != p.all * p.queries) refuse("attention normals have shape " + text(shape_of(normal)));
    NewHeads<T> dq(q.shape, strides_of(query)), dk(k.shape, strides_of(key)), dv(v.shape, strides_of(value));
    {
        KernelScope scope(2 * p.products());
        const auto normals = row_major(normal);
        std::atomic<bool> failed{false};
        parallel_for(p.all, 1, [&](std::int64_t begin, std::int64_t end) {
            const Buffer<float> scores(p.block * p.keys), slopes(p.block * p.keys);
            for (std::int64_t head = begin; head < end; ++head) {
                bool good = true;
                for (std::int64_t first = 0; first < p.queries; first += p.block) {
                    const std::int64_t rows = std::min(p.block, p.queries - first);
                    const float* own = q.at(head) + first * q.leading();
                    const float* flow = g.at(head) + first * g.leading();
                    const float* shown = y.at(head) + first * y.leading();
                    good = good && multiply('N', 'T', rows, p.keys, p.width, static_cast<float>(scale), own, q.leading(),
                                            k.at(head), k.leading(), 0.f, scores.data(), p.keys);
                    good = good && multiply('N', 'T', rows, p.keys, p.values, 1.f, flow, g.leading(), v.at(head), v.leading(),
                                            0.f, slopes.data(), p.keys);
                    for (std::int64_t i = 0; i < rows; ++i) {
                        const float delta = LEAF_WIDE(products_sum)(flow + i * g.leading(), shown + i * y.leading(), p.values);
                        LEAF_WIDE(attention_gradient_row)(scores.data() + i * p.keys, slopes.data() + i * p.keys, p.keys,
                                                          p.visible(first + i), added.row(head, p.heads, first + i),
                                                          normals.data()[head * p.queries + first + i], delta,
                                                          static_cast<float>(scale), p.random, p.place(head, first + i), p.kept);
                    }
                    const float more = first ? 1.f : 0.f;
                    good = good && multiply('N', 'N', rows, p.width, p.keys, 1.f, slopes.data(), p.keys, k.at(head), k.leading(),
                                            0.f, dq.at(head) + first * dq.leading(), dq.leading());
                    good = good && multiply('T', 'N', p.keys, p.width, rows, 1.f, slopes.data(), p.keys, own, q.leading(), more,
                                            dk.at(head), dk.leading());
                    good = good && multiply('T', 'N', p.keys, p.values, rows, 1.f, scores.data(), p.keys, flow, g.leading(),
                                            more, dv.at(head), dv.leading());
                }
                if (!good) failed = true;
            }
        });
        if (failed) throw std::runtime_error("oneDNN's gemm failed");
        dq.finish(), dk.finish(), dv.finish();
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

void bind_attention(nb::module_& module) {
    bind_in<float>(module);
    nb::module_ half = bfloat16_module(module);
    bind_in<bfloat16>(half);
}

}  // namespace workbench
