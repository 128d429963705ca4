// Matrix products in bfloat16 by the processor's own instructions, through oneDNN: sums in float32, rounded once.
//
// oneDNN's gemm knows no such type with results of that type, so a primitive is made for the sizes and strides of a product
// and kept. That takes up to a millisecond: `workbench/kernels/matmul.py` sends small products elsewhere.
#include "matmul_bfloat16.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "engine.hpp"
#include "matmul.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

using Kind = dnnl::memory::data_type;
using Operand16 = Input<bfloat16>;

// Whether oneDNN may describe memory by these strides: none is negative, and no value is met twice.
bool lies_apart(const Dims& shape, const Dims& strides) {
    std::vector<std::size_t> order(shape.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return strides[a] < strides[b]; });
    std::int64_t reach = 1;
    for (const std::size_t i : order) {
        if (shape[i] == 1) continue;
        if (strides[i] < reach) return false;
        reach = strides[i] * shape[i];
    }
    return true;
}

// Matrices [..., rows, columns] as oneDNN takes them: dense along rows or columns. A copy where they lie otherwise.
struct Matrices {
    Dims shape, strides;
    const bfloat16* data = nullptr;
    Buffer<bfloat16> copy;

    // For a product of `rank` dims. What is stretched over a batch is taken to be there `once`.
    Matrices(const Operand16& array, std::size_t rank, bool once = true) : Matrices(array) {
        for (std::size_t i = 0; i + 2 < shape.size(); ++i)
            if (once && strides[i] == 0) shape[i] = 1;
        const std::size_t rows = shape.size() - 2, columns = shape.size() - 1;
        if (!settle(rows, columns) && !settle(columns, rows)) lay_out();
        else if (!lies_apart(shape, strides)) lay_out();
        shape.insert(shape.begin(), rank - shape.size(), 1);
        strides.insert(strides.begin(), rank - strides.size(), 1);
        settle_ones();
    }
    // Rows of an operand of any number of dims.
    static Matrices rows_of(const Operand16& array) {
        Matrices found(array);
        const Dims dense = row_major_strides(found.shape);
        if (!lies_as(found.shape, found.strides, dense) && found.shape.size() != 2) found.lay_out();
        const std::int64_t width = found.shape.back(), count = width ? count_of(found.shape) / width : 0;
        if (found.shape.size() != 2) found.shape = {count, width}, found.strides = {std::max<std::int64_t>(1, width), 1};
        if ((!found.settle(0, 1) && !found.settle(1, 0)) || !lies_apart(found.shape, found.strides)) found.lay_out();
        found.settle_ones();
        return found;
    }
    // Memory that lies row by row.
    static Matrices at(const bfloat16* data, std::int64_t rows, std::int64_t columns) {
        Matrices found;
        found.shape = {rows, columns}, found.strides = {columns, 1}, found.data = data;
        return found;
    }
    void turn() { std::swap(shape[0], shape[1]), std::swap(strides[0], strides[1]); }
    void lay_out() {
        const Dims dense = row_major_strides(shape);
        if (lies_as(shape, strides, dense)) {
            strides = dense;
            return;
        }
        Buffer<bfloat16> laid(count_of(shape));
        copy_strided(laid.data(), dense, data, shape, strides);
        copy = std::move(laid), data = copy.data(), strides = dense;
    }
    dnnl::memory::desc description() const { return describe(shape, strides, Kind::bf16); }

   private:
    Matrices() = default;
    explicit Matrices(const Operand16& array) : shape(shape_of(array)), strides(strides_of(array)), data(array.data()) {}
    bool settle(std::size_t outer, std::size_t inner) {
        return (strides[inner] == 1 || shape[inner] == 1) && (strides[outer] >= shape[inner] || shape[outer] == 1);
    }
    // A dim of one entry may have any stride: it gets one that a product of other sizes could have too.
    void settle_ones() {
        const std::size_t rows = shape.size() - 2, columns = shape.size() - 1;
        if (shape[columns] == 1 && !(strides[rows] == 1 && shape[rows] > 1)) strides[columns] = 1;
        if (shape[rows] == 1) strides[rows] = strides[columns] == 1 ? shape[columns] : 1;
        if (shape[columns] == 1 && strides[rows] == 1) strides[columns] = shape[rows];
        std::int64_t step = shape[rows] * shape[columns];
        for (std::size_t i = rows; i-- > 0;) {
            if (shape[i] == 1) strides[i] = step;
            step = std::max(step, strides[i] * shape[i]);
        }
    }
};

struct Product {
    Shared multiply;
    dnnl::memory::desc left, right, bias, out;
    std::string implementation;

    // Results of `type`: bfloat16, or the sums as they are.
    static std::shared_ptr<const Product> prepared(const Matrices& a, const Matrices& b, const Dims& out, bool bias, bool relu,
                                                   Kind type) {
        static auto* cache = new RecentlyUsed<Product>(primitives_kept);
        Dims key{static_cast<std::int64_t>(out.size()), bias, relu, omp_get_max_threads(), static_cast<std::int64_t>(type)};
        for (const Dims* one : {&a.shape, &a.strides, &b.shape, &b.strides}) key.insert(key.end(), one->begin(), one->end());
        return cache->get(key, [&] {
            dnnl::primitive_attr attributes = with_own_room();
            if (relu) {
                dnnl::post_ops after;
                after.append_eltwise(dnnl::algorithm::eltwise_relu, 0.f, 0.f);
                attributes.set_post_ops(after);
            }
            const auto result = describe(out, row_major_strides(out), type);
            const auto added = bias ? describe({1, out.back()}, {out.back(), 1}, Kind::bf16) : dnnl::memory::desc();
            const auto description =
                bias ? dnnl::matmul::primitive_desc(engine(), a.description(), b.description(), added, result, attributes)
                     : dnnl::matmul::primitive_desc(engine(), a.description(), b.description(), result, attributes);
            return std::make_shared<Product>(Product{Shared(description), a.description(), b.description(), added, result,
                                                     description.impl_info_str()});
        });
    }
    bool fast() const { return implementation.rfind("brg", 0) == 0; }
    template <typename R>
    void operator()(const Matrices& a, const Matrices& b, const bfloat16* added, const R* result) const {
        std::unordered_map<int, dnnl::memory> arguments{{DNNL_ARG_SRC, bound(left, a.data)},
                                                        {DNNL_ARG_WEIGHTS, bound(right, b.data)},
                                                        {DNNL_ARG_DST, bound(out, result)}};
        if (added) arguments.emplace(DNNL_ARG_BIAS, bound(bias, added));
        multiply.with_room(arguments);
        stream().wait();
    }
};

// The product for operands as they lie, or, where oneDNN has only slow code for that, of copies row by row.
std::shared_ptr<const Product> chosen(Matrices& a, Matrices& b, const Dims& out, bool bias, bool relu, Kind type = Kind::bf16) {
    auto found = Product::prepared(a, b, out, bias, relu, type);
    if (found->fast()) return found;
    a.lay_out(), b.lay_out();
    return Product::prepared(a, b, out, bias, relu, type);
}

void multiply(const Operand16& left, const Operand16& right, const Dims& shape, const bfloat16* out) {
    if (right.ndim() == 2) {  // a batch against one matrix is one product
        Matrices a = Matrices::rows_of(left), b(right, 2);
        (*chosen(a, b, {a.shape[0], shape.back()}, false, false))(a, b, nullptr, out);
    } else {
        Matrices a(left, shape.size()), b(right, shape.size());
        for (std::size_t i = 0; i + 2 < shape.size(); ++i)  // one of them has to say how large the batch is
            if (a.shape[i] == 1 && b.shape[i] == 1 && shape[i] > 1) {
                a = Matrices(left, shape.size(), false), b = Matrices(right, shape.size(), false);
                break;
            }
        (*chosen(a, b, shape, false, false))(a, b, nullptr, out);
    }
}

nb::object matmul(const Operand16& left, const Operand16& right) {
    const Dims shape = product_shape(shape_of(left), shape_of(right));
    const std::int64_t count = count_of(shape), inner = static_cast<std::int64_t>(left.shape(left.ndim() - 1));
    auto out = Output<bfloat16>::row_major(shape);
    if (inner == 0) {
        std::fill_n(out.data(), count, bfloat16(0.f));
    } else if (count) {
        KernelScope scope(count * inner);
        multiply(left, right, shape, out.data());
    }
    return out.to_python();
}

void fill_rows(bfloat16* out, std::int64_t count, const bfloat16* row, std::int64_t columns, bool relu) {
    for (std::int64_t i = 0; i < count; ++i) {
        const float value = row ? static_cast<float>(row[i % columns]) : 0.f;
        out[i] = relu && value < 0.f ? 0.f : value;
    }
}

// y = x weightᵀ + bias over the last dimension of x.
nb::object linear(const Operand16& x, const Operand16& weight, const std::optional<Operand16>& bias, bool relu) {
    const Dims shape = linear_shape(shape_of(x), shape_of(weight), bias ? std::optional(shape_of(*bias)) : std::nullopt);
    const std::int64_t count = count_of(shape), inner = static_cast<std::int64_t>(weight.shape(1));
    auto out = Output<bfloat16>::row_major(shape);
    if (count) {
        KernelScope scope(count * inner);
        std::optional<Dense<bfloat16>> values;
        if (bias) values.emplace(row_major(*bias));
        const bfloat16* added = values ? values->data() : nullptr;
        if (inner == 0) {
            fill_rows(out.data(), count, added, shape.back(), relu);
        } else {
            Matrices a = Matrices::rows_of(x), b = Matrices::rows_of(weight);
            b.turn();
            (*chosen(a, b, {a.shape[0], shape.back()}, bias.has_value(), relu))(a, b, added, out.data());
        }
    }
    return out.to_python();
}

// Which oneDNN code would multiply these.
std::string implementation(const Operand16& left, const Operand16& right) {
    const Dims shape = product_shape(shape_of(left), shape_of(right));
    KernelScope scope(count_of(shape) * static_cast<std::int64_t>(left.shape(left.ndim() - 1)));
    Matrices a(left, shape.size()), b(right, shape.size());
    return chosen(a, b, shape, false, false)->implementation;
}

}  // namespace

void multiply_by_rows(const bfloat16* left, const bfloat16* right, std::int64_t m, std::int64_t n, std::int64_t rows,
                      bfloat16* out) {
    Matrices a = Matrices::at(left, rows, m), b = Matrices::at(right, rows, n);
    a.turn();
    (*chosen(a, b, {m, n}, false, false))(a, b, nullptr, out);
}

void multiply_by_columns(const bfloat16* left, const bfloat16* right, std::int64_t m, std::int64_t inner, std::int64_t n,
                         const bfloat16* bias, bool relu, bfloat16* out) {
    Matrices a = Matrices::at(left, m, inner), b = Matrices::at(right, n, inner);
    b.turn();
    (*chosen(a, b, {m, n}, bias != nullptr, relu))(a, b, bias, out);
}

void multiply_to_floats(const bfloat16* left, const bfloat16* right, std::int64_t m, std::int64_t inner, std::int64_t n,
                        float* out) {
    Matrices a = Matrices::at(left, m, inner), b = Matrices::at(right, inner, n);
    (*chosen(a, b, {m, n}, false, false, Kind::f32))(a, b, nullptr, out);
}

void bind_matmul_bfloat16(nb::module_& module) {
    using nb::arg;
    nb::module_ half = bfloat16_module(module);
    half.def("matmul", &matmul, arg("left").noconvert(), arg("right").noconvert());
    half.def("linear", &linear, arg("x").noconvert(), arg("weight").noconvert(), arg("bias").noconvert().none(), nb::kw_only(),
             arg("relu") = false);
    half.def("matmul_implementation", &implementation, arg("left").noconvert(), arg("right").noconvert());
}

}  // namespace workbench
