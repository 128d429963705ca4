// Matrix products in float32 through oneDNN's gemm, on the same threads as every other kernel.
#include "matmul.hpp"

#include <algorithm>
#include <atomic>
#include <optional>

#include "engine.hpp"
#define WORKBENCH_LEAVES "leaves/matmul.inl"
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {

namespace {

Dims batch_of(const Dims& left, const Dims& right) {
    const std::size_t rank = std::max(left.size(), right.size()) - 2;
    Dims batch(rank, 1);
    for (const Dims* shape : {&left, &right}) {
        const std::size_t missing = rank - (shape->size() - 2);
        for (std::size_t i = 0; i + 2 < shape->size(); ++i) {
            std::int64_t& size = batch[missing + i];
            if ((*shape)[i] == 1 || (*shape)[i] == size) continue;
            if (size != 1) refuse("matmul of " + text(left) + " and " + text(right) + ": the batch sizes differ");
            size = (*shape)[i];
        }
    }
    return batch;
}

}  // namespace

Dims product_shape(const Dims& left, const Dims& right) {
    if (left.size() < 2 || right.size() < 2)
        refuse("matmul of " + text(left) + " and " + text(right) + "; expected two dimensions or more");
    if (left.back() != right[right.size() - 2])
        refuse("matmul of " + text(left) + " and " + text(right) + ": the inner sizes differ");
    count_of(left), count_of(right);
    Dims shape = batch_of(left, right);
    shape.push_back(left[left.size() - 2]), shape.push_back(right.back());
    return shape;
}

Dims linear_shape(const Dims& x, const Dims& weight, const std::optional<Dims>& bias) {
    if (weight.size() != 2) refuse("linear weight has shape " + text(weight) + "; expected two dimensions");
    count_of(weight), count_of(x);
    if (x.empty() || x.back() != weight[1])
        refuse("linear input has shape " + text(x) + ", but weight " + text(weight) + " takes [..., " +
               std::to_string(weight[1]) + "]");
    if (bias && *bias != Dims{weight[0]})
        refuse("linear bias has shape " + text(*bias) + "; expected [" + std::to_string(weight[0]) + "]");
    Dims shape = x;
    shape.back() = weight[0];
    return shape;
}

namespace {

// A matrix as gemm takes it: dense along one dimension; a copy when it is along none.
struct Matrix {
    std::int64_t rows, columns, leading;
    bool transposed;
    const float* data;
    Buffer<float> copy;

    explicit Matrix(const Input<float>& array) : rows(1) {
        const Dims shape = shape_of(array), strides = strides_of(array);
        columns = shape.back();
        for (std::size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
        data = array.data();
        if (shape.size() == 2 && fits(shape[0], strides[0], shape[1], strides[1])) {
            transposed = false, leading = std::max(strides[0], columns);
        } else if (shape.size() == 2 && fits(shape[1], strides[1], shape[0], strides[0])) {
            transposed = true, leading = std::max(strides[1], rows);
        } else {
            transposed = false, leading = std::max<std::int64_t>(1, columns);
            const Dims dense = row_major_strides(shape);
            if (!lies_as(shape, strides, dense)) {
                copy = Buffer<float>(count_of(shape));
                copy_strided(copy.data(), dense, data, shape, strides);
                data = copy.data();
            }
        }
    }

    static bool fits(std::int64_t outer, std::int64_t outer_stride, std::int64_t inner, std::int64_t inner_stride) {
        return (inner_stride == 1 || inner == 1) && (outer_stride >= inner || outer == 1);
    }
};

// A matrix read along its columns meets itself in the caches where its rows all begin at the same place of a page, and gemm
// packs it so that where the other one is narrow, a tenth to a fifth of the time goes there. oneDNN's product that is made
// for its sizes copies less at a time. Making it takes 0.3 ms, so it is for products that take longer.
struct Columns {
    Shared multiply;
    dnnl::memory::desc source, weight, result;

    static bool suit(const char ta, std::int64_t leading, std::int64_t m, std::int64_t n, std::int64_t k) {
        return ta == 'T' && leading % 1024 == 0 && n <= 512 && m * n * k >= std::int64_t{1} << 26;
    }
    // Null where oneDNN has no such product for this processor.
    static std::shared_ptr<const Columns> prepared(std::int64_t leading, bool transposed, std::int64_t wide, std::int64_t m,
                                                   std::int64_t n, std::int64_t k) {
        static auto* cache = new RecentlyUsed<Columns>(primitives_kept);
        return cache->get({leading, transposed, wide, m, n, k, omp_get_max_threads()}, [&]() -> std::shared_ptr<Columns> {
            const dnnl::matmul::primitive_desc description(
                engine(), describe_floats({m, k}, {1, leading}),
                describe_floats({k, n}, transposed ? Dims{1, wide} : Dims{wide, 1}), describe_floats({m, n}, {n, 1}), with_own_room());
            if (std::string(description.impl_info_str()).rfind("brg", 0) != 0) return nullptr;
            return std::make_shared<Columns>(Columns{Shared(description), description.src_desc(), description.weights_desc(),
                                                     description.dst_desc()});
        });
    }
    void operator()(const float* a, const float* b, float* out) const {
        multiply.with_room(
            {{DNNL_ARG_SRC, bound(source, a)}, {DNNL_ARG_WEIGHTS, bound(weight, b)}, {DNNL_ARG_DST, bound(result, out)}});
        stream().wait();
    }
};

void gemm(const Matrix& a, const Matrix& b, bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n,
          std::int64_t k, float* out) {
    if (m == 0 || n == 0) return;
    if (k == 0) {
        std::fill_n(out, m * n, 0.f);
        return;
    }
    const char ta = a.transposed != transpose_a ? 'T' : 'N', tb = b.transposed != transpose_b ? 'T' : 'N';
    if (Columns::suit(ta, a.leading, m, n, k))
        if (const auto columns = Columns::prepared(a.leading, tb == 'T', b.leading, m, n, k))
            return (*columns)(a.data, b.data, out);
    if (dnnl_sgemm(ta, tb, m, n, k, 1.f, a.data, a.leading, b.data, b.leading, 0.f, out, n) != dnnl_success)
        throw std::runtime_error("oneDNN's gemm failed");
}

// Where the matrices of a batch lie: batch dimensions stretch to each other, the last two are the matrix.
struct Batch {
    Dims steps;  // of each batch dimension of the product; 0 where this operand is stretched
    std::int64_t leading = 1;
    bool transposed = false;
    const float* data;
    Buffer<float> copy;

    Batch(const Input<float>& array, const Dims& batch) : data(array.data()) {
        const Dims shape = shape_of(array);
        Dims strides = strides_of(array);
        const std::size_t rank = shape.size(), rows = rank - 2, columns = rank - 1;
        if (Matrix::fits(shape[rows], strides[rows], shape[columns], strides[columns])) {
            leading = std::max(strides[rows], shape[columns]);
        } else if (Matrix::fits(shape[columns], strides[columns], shape[rows], strides[rows])) {
            transposed = true, leading = std::max(strides[columns], shape[rows]);
        } else {
            const Dims dense = row_major_strides(shape);
            copy = Buffer<float>(count_of(shape));
            copy_strided(copy.data(), dense, data, shape, strides);
            data = copy.data(), strides = dense, leading = std::max<std::int64_t>(1, shape[columns]);
        }
        steps.assign(batch.size(), 0);
        const std::size_t missing = batch.size() - (rank - 2);
        for (std::size_t i = 0; i + 2 < rank; ++i)
            if (shape[i] != 1) steps[missing + i] = strides[i];
    }
    const float* at(const Dims& batch, std::int64_t index) const {
        const float* found = data;
        for (std::size_t i = batch.size(); i-- > 0; index /= batch[i]) found += index % batch[i] * steps[i];
        return found;
    }
};

// One product a batch entry; the entries are shared out over the threads.
nb::object batched_matmul(const Input<float>& left, const Input<float>& right, const Dims& shape) {
    const Dims batch(shape.begin(), shape.end() - 2);
    const std::int64_t m = shape[shape.size() - 2], k = static_cast<std::int64_t>(left.shape(left.ndim() - 1)), n = shape.back();
    const std::int64_t entries = count_of(batch);
    auto out = Output<float>::row_major(shape);
    if (count_of(shape) == 0) return out.to_python();
    {
        KernelScope scope(entries * m * n * k);
        if (k == 0) {
            std::fill_n(out.data(), entries * m * n, 0.f);
        } else {
            const Batch a(left, batch), b(right, batch);
            std::atomic<bool> failed{false};
            const auto multiply = [&](std::int64_t entry) {
                if (dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', m, n, k, 1.f, a.at(batch, entry),
                               a.leading, b.at(batch, entry), b.leading, 0.f, out.data() + entry * m * n, n) != dnnl_success)
                    failed = true;
            };
            if (entries < thread_count()) {  // few large products: each on all threads
                for (std::int64_t entry = 0; entry < entries; ++entry) multiply(entry);
            } else {
                const std::int64_t grain = std::max<std::int64_t>(1, 1000000 / std::max<std::int64_t>(1, m * n * k));
                parallel_for(entries, grain, [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t entry = begin; entry < end; ++entry) multiply(entry);
                });
            }
            if (failed) throw std::runtime_error("oneDNN's gemm failed");
        }
    }
    return out.to_python();
}

nb::object matmul(const Input<float>& left, const Input<float>& right) {
    const Dims shape = product_shape(shape_of(left), shape_of(right));
    if (shape.size() > 2) return batched_matmul(left, right, shape);
    auto out = Output<float>::row_major(shape);
    {
        KernelScope scope(count_of(shape_of(left)) * shape[1]);
        const Matrix a(left), b(right);
        gemm(a, b, false, false, a.rows, b.columns, a.columns, out.data());
    }
    return out.to_python();
}

// y = x weightᵀ + bias over the last dimension of x.
nb::object linear(const Input<float>& x, const Input<float>& weight, const std::optional<Input<float>>& bias, bool relu) {
    const Dims shape = linear_shape(shape_of(x), shape_of(weight), bias ? std::optional(shape_of(*bias)) : std::nullopt);
    const std::int64_t outputs = shape.back();
    auto out = Output<float>::row_major(shape);
    {
        KernelScope scope(count_of(shape_of(x)) * outputs);
        const Matrix a(x), b(weight);
        gemm(a, b, false, true, a.rows, outputs, a.columns, out.data());
        if (bias || relu) {
            std::optional<Dense<float>> values;
            if (bias) values.emplace(row_major(*bias));
            const float* added = values ? values->data() : nullptr;
            parallel_for(a.rows, grain_for(outputs), [&](std::int64_t begin, std::int64_t end) {
                LEAF(finish_rows)(out.data() + begin * outputs, end - begin, outputs, added, relu);
            });
        }
    }
    return out.to_python();
}

}  // namespace

void bind_matmul(nb::module_& module) {
    using nb::arg;
    module.def("matmul", &matmul, arg("left").noconvert(), arg("right").noconvert());
    module.def("linear", &linear, arg("x").noconvert(), arg("weight").noconvert(), arg("bias").noconvert().none(),
               nb::kw_only(), arg("relu") = false);
}

}  // namespace workbench
