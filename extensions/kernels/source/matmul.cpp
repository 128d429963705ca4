// Matrix products on the same threads as every other kernel: of floats in the way that is fastest here, of doubles our own.
#include "matmul.hpp"

#include <algorithm>
#include <atomic>
#include <optional>

#include <oneapi/dnnl/dnnl.h>

#define WORKBENCH_LEAVES "leaves/matmul.inl"
#include "dispatch.hpp"
#include "layout.hpp"
#include "product.hpp"
#include "product_choice.hpp"
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
template <typename T>
struct Matrix {
    std::int64_t rows, columns, leading;
    bool transposed;
    const T* data;
    Buffer<T> copy;

    explicit Matrix(const Input<T>& array) : rows(1) {
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
                copy = Buffer<T>(count_of(shape));
                copy_strided(copy.data(), dense, data, shape, strides);
                data = copy.data();
            }
        }
    }

    static bool fits(std::int64_t outer, std::int64_t outer_stride, std::int64_t inner, std::int64_t inner_stride) {
        return (inner_stride == 1 || inner == 1) && (outer_stride >= inner || outer == 1);
    }
};

Product described(const float* a, std::int64_t a_row, bool a_transposed, const float* b, std::int64_t b_row, bool b_transposed,
                  std::int64_t m, std::int64_t n, std::int64_t k, float* out) {
    return {a, a_row, a_transposed, b, b_row, b_transposed, m, n, k, out};
}

Lying<double> lying(const double* data, std::int64_t leading, bool transposed) {
    return transposed ? Lying<double>{data, 1, leading} : Lying<double>{data, leading, 1};
}

void multiply(const Matrix<float>& a, const Matrix<float>& b, bool transpose_b, std::int64_t n, float* out) {
    multiply(described(a.data, a.leading, a.transposed, b.data, b.leading, b.transposed != transpose_b, a.rows, n, a.columns, out));
}

void multiply(const Matrix<double>& a, const Matrix<double>& b, bool transpose_b, std::int64_t n, double* out) {
    own_product<double>(lying(a.data, a.leading, a.transposed), lying(b.data, b.leading, b.transposed != transpose_b), a.rows, n,
                        a.columns, out);
}

// Where the matrices of a batch lie: batch dimensions stretch to each other, the last two are the matrix.
template <typename T>
struct Batch {
    Dims steps;  // of each batch dimension of the product; 0 where this operand is stretched
    std::int64_t leading = 1;
    bool transposed = false;
    const T* data;
    Buffer<T> copy;

    Batch(const Input<T>& array, const Dims& batch) : data(array.data()) {
        const Dims shape = shape_of(array);
        Dims strides = strides_of(array);
        const std::size_t rank = shape.size(), rows = rank - 2, columns = rank - 1;
        if (Matrix<T>::fits(shape[rows], strides[rows], shape[columns], strides[columns])) {
            leading = std::max(strides[rows], shape[columns]);
        } else if (Matrix<T>::fits(shape[columns], strides[columns], shape[rows], strides[rows])) {
            transposed = true, leading = std::max(strides[columns], shape[rows]);
        } else {
            const Dims dense = row_major_strides(shape);
            copy = Buffer<T>(count_of(shape));
            copy_strided(copy.data(), dense, data, shape, strides);
            data = copy.data(), strides = dense, leading = std::max<std::int64_t>(1, shape[columns]);
        }
        steps.assign(batch.size(), 0);
        const std::size_t missing = batch.size() - (rank - 2);
        for (std::size_t i = 0; i + 2 < rank; ++i)
            if (shape[i] != 1) steps[missing + i] = strides[i];
    }
    const T* at(const Dims& batch, std::int64_t index) const {
        const T* found = data;
        for (std::size_t i = batch.size(); i-- > 0; index /= batch[i]) found += index % batch[i] * steps[i];
        return found;
    }
};

// Computes each entry by at(entry, alone); few large ones on all threads each, else shared out over the threads.
template <typename At>
void over_entries(std::int64_t entries, std::int64_t products, At&& at) {
    if (entries < thread_count()) {
        for (std::int64_t entry = 0; entry < entries; ++entry) at(entry, false);
        return;
    }
    const std::int64_t grain = std::max<std::int64_t>(1, 1000000 / std::max<std::int64_t>(1, products));
    parallel_for(entries, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t entry = begin; entry < end; ++entry) at(entry, true);
    });
}

void multiply_batch(const Batch<double>& a, const Batch<double>& b, const Dims& batch, std::int64_t m, std::int64_t n, std::int64_t k,
                    double* out) {
    over_entries(count_of(batch), m * n * k, [&](std::int64_t entry, bool alone) {
        own_product<double>(lying(a.at(batch, entry), a.leading, a.transposed), lying(b.at(batch, entry), b.leading, b.transposed), m,
                            n, k, out + entry * m * n, alone);
    });
}

void multiply_batch(const Batch<float>& a, const Batch<float>& b, const Dims& batch, std::int64_t m, std::int64_t n, std::int64_t k,
                    float* out) {
    const std::int64_t entries = count_of(batch);
    const auto one = [&](std::int64_t entry) {
        return described(a.at(batch, entry), a.leading, a.transposed, b.at(batch, entry), b.leading, b.transposed, m, n, k,
                         out + entry * m * n);
    };
    if (entries >= thread_count() && own_in_a_batch(one(0), entries))
        return over_entries(entries, m * n * k, [&](std::int64_t entry, bool) { own_entry(one(entry)); });
    std::atomic<bool> failed{false};
    over_entries(entries, m * n * k, [&](std::int64_t entry, bool) {
        const Product p = one(entry);
        if (dnnl_sgemm(p.a_transposed ? 'T' : 'N', p.b_transposed ? 'T' : 'N', m, n, k, 1.f, p.a, p.a_row, p.b, p.b_row, 0.f, p.out,
                       n) != dnnl_success)
            failed = true;
    });
    if (failed) throw std::runtime_error("oneDNN's gemm failed");
}

template <typename T>
nb::object batched_matmul(const Input<T>& left, const Input<T>& right, const Dims& shape) {
    const Dims batch(shape.begin(), shape.end() - 2);
    const std::int64_t m = shape[shape.size() - 2], k = static_cast<std::int64_t>(left.shape(left.ndim() - 1)), n = shape.back();
    auto out = Output<T>::row_major(shape);
    if (count_of(shape) == 0) return out.to_python();
    {
        KernelScope scope(count_of(shape) * k);
        if (k == 0)
            std::fill_n(out.data(), count_of(shape), T(0));
        else
            multiply_batch(Batch<T>(left, batch), Batch<T>(right, batch), batch, m, n, k, out.data());
    }
    return out.to_python();
}

template <typename T>
nb::object matmul(const Input<T>& left, const Input<T>& right) {
    const Dims shape = product_shape(shape_of(left), shape_of(right));
    if (shape.size() > 2) return batched_matmul<T>(left, right, shape);
    auto out = Output<T>::row_major(shape);
    {
        KernelScope scope(count_of(shape_of(left)) * shape[1]);
        const Matrix<T> a(left), b(right);
        multiply(a, b, false, b.columns, out.data());
    }
    return out.to_python();
}

// y = x weightᵀ + bias over the last dimension of x.
template <typename T>
nb::object linear(const Input<T>& x, const Input<T>& weight, const std::optional<Input<T>>& bias, bool relu) {
    const Dims shape = linear_shape(shape_of(x), shape_of(weight), bias ? std::optional(shape_of(*bias)) : std::nullopt);
    const std::int64_t outputs = shape.back();
    auto out = Output<T>::row_major(shape);
    {
        KernelScope scope(count_of(shape_of(x)) * outputs);
        const Matrix<T> a(x), b(weight);
        multiply(a, b, true, outputs, out.data());
        if (bias || relu) {
            std::optional<Dense<T>> values;
            if (bias) values.emplace(row_major(*bias));
            const T* added = values ? values->data() : nullptr;
            parallel_for(a.rows, grain_for(outputs), [&](std::int64_t begin, std::int64_t end) {
                LEAF(finish_rows<T>)(out.data() + begin * outputs, end - begin, outputs, added, relu);
            });
        }
    }
    return out.to_python();
}

}  // namespace

void bind_matmul(nb::module_& module) {
    using nb::arg;
    module.def("matmul", &matmul<float>, arg("left").noconvert(), arg("right").noconvert());
    module.def("matmul", &matmul<double>, arg("left").noconvert(), arg("right").noconvert());
    module.def("linear", &linear<float>, arg("x").noconvert(), arg("weight").noconvert(), arg("bias").noconvert().none(),
               nb::kw_only(), arg("relu") = false);
    module.def("linear", &linear<double>, arg("x").noconvert(), arg("weight").noconvert(), arg("bias").noconvert().none(),
               nb::kw_only(), arg("relu") = false);
}

}  // namespace workbench
