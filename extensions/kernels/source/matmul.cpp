// Matrix products in float32 through oneDNN's gemm, on the same threads as every other kernel.
#include "matmul.hpp"

#include <optional>

#include "engine.hpp"
#define WORKBENCH_LEAVES "leaves/matmul.inl"
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
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

void gemm(const Matrix& a, const Matrix& b, bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n,
          std::int64_t k, float* out) {
    if (m == 0 || n == 0) return;
    if (k == 0) {
        std::fill_n(out, m * n, 0.f);
        return;
    }
    const char ta = a.transposed != transpose_a ? 'T' : 'N', tb = b.transposed != transpose_b ? 'T' : 'N';
    if (dnnl_sgemm(ta, tb, m, n, k, 1.f, a.data, a.leading, b.data, b.leading, 0.f, out, n) != dnnl_success)
        throw std::runtime_error("oneDNN's gemm failed");
}

void check_matrix(const Input<float>& array, const char* name) {
    if (array.ndim() != 2)
        refuse(std::string(name) + " has shape " + text(shape_of(array)) + "; expected two dimensions");
    count_of(shape_of(array));
}

nb::object matmul(const Input<float>& left, const Input<float>& right) {
    check_matrix(left, "matmul left operand");
    check_matrix(right, "matmul right operand");
    if (left.shape(1) != right.shape(0))
        refuse("matmul of " + text(shape_of(left)) + " and " + text(shape_of(right)) + ": the inner sizes differ");
    const std::int64_t rows = static_cast<std::int64_t>(left.shape(0));
    auto out = Output<float>::row_major({rows, static_cast<std::int64_t>(right.shape(1))});
    {
        KernelScope scope(count_of(shape_of(left)) * static_cast<std::int64_t>(right.shape(1)));
        const Matrix a(left), b(right);
        gemm(a, b, false, false, a.rows, b.columns, a.columns, out.data());
    }
    return out.to_python();
}

// y = x weightᵀ + bias over the last dimension of x.
nb::object linear(const Input<float>& x, const Input<float>& weight, const std::optional<Input<float>>& bias, bool relu) {
    check_matrix(weight, "linear weight");
    const Dims shape = shape_of(x);
    const std::int64_t outputs = static_cast<std::int64_t>(weight.shape(0));
    count_of(shape);
    if (shape.empty() || shape.back() != static_cast<std::int64_t>(weight.shape(1)))
        refuse("linear input has shape " + text(shape) + ", but weight " + text(shape_of(weight)) + " takes [..., " +
               std::to_string(weight.shape(1)) + "]");
    if (bias && shape_of(*bias) != Dims{outputs})
        refuse("linear bias has shape " + text(shape_of(*bias)) + "; expected [" + std::to_string(outputs) + "]");
    Dims out_shape = shape;
    out_shape.back() = outputs;
    auto out = Output<float>::row_major(out_shape);
    {
        KernelScope scope(count_of(shape) * outputs);
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

// The gradient of the weight: gradientᵀ x, both flattened to two dimensions.
nb::object linear_weight_gradient(const Input<float>& gradient, const Input<float>& x) {
    const Dims g = shape_of(gradient), shape = shape_of(x);
    if (g.empty() || g.size() != shape.size() || !std::equal(g.begin(), g.end() - 1, shape.begin()))
        refuse("linear gradient has shape " + text(g) + ", which does not belong to an input of shape " + text(shape));
    auto out = Output<float>::row_major({g.back(), shape.back()});
    {
        KernelScope scope(count_of(g) * shape.back());
        const Matrix a(gradient), b(x);
        gemm(a, b, true, false, a.columns, b.columns, a.rows, out.data());
    }
    return out.to_python();
}

}  // namespace

void bind_matmul(nb::module_& module) {
    using nb::arg;
    module.def("matmul", &matmul, arg("left").noconvert(), arg("right").noconvert());
    module.def("linear", &linear, arg("x").noconvert(), arg("weight").noconvert(), arg("bias").noconvert().none(),
               nb::kw_only(), arg("relu") = false);
    module.def("linear_weight_gradient", &linear_weight_gradient, arg("gradient").noconvert(), arg("x").noconvert());
}

}  // namespace workbench
