// Products of matrices: a layer's, whose weight is packed once, and those of two values.
#include "../product_choice.hpp"
#include "steps.hpp"

#define WORKBENCH_LEAVES "leaves/matmul.inl"
#include "../dispatch.hpp"

namespace workbench::compiled {
namespace {

// A matrix as it lies, or turned; no more where its values are further apart.
struct Matrix {
    std::int64_t rows, columns, leading, offset;
    bool transposed;
};

std::optional<Matrix> matrix(const Layout& layout) {
    if (layout.get_inner_nblks() || layout.get_dims().size() != 2) return std::nullopt;
    const Dims sizes = layout.get_dims(), steps = layout.get_strides();
    const std::int64_t offset = layout.get_submemory_offset();
    if ((steps[1] == 1 || sizes[1] == 1) && (steps[0] >= sizes[1] || sizes[0] == 1))
        return Matrix{sizes[0], sizes[1], std::max(steps[0], sizes[1]), offset, false};
    if ((steps[0] == 1 || sizes[0] == 1) && (steps[1] >= sizes[0] || sizes[1] == 1))
        return Matrix{sizes[0], sizes[1], std::max(steps[1], sizes[0]), offset, true};
    return std::nullopt;
}

}  // namespace

// The dims in front as one, of a matrix that products take as it lies.
int Program::as_rows(int x) {
    const Dims sizes = shape(x);
    if (sizes.size() == 2 && matrix(at(x).layout)) return x;
    std::int64_t rows = 1;
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) rows *= sizes[i];
    const int from = plain(x);
    return alike_values(add_slot_in(plain_layout({rows, sizes.back()}), at(from).space, at(from).settled), from);
}

int Program::multiplied(int a, int b, bool transposed, int bias, bool relu) {
    Dims sizes = shape(a);
    if (sizes.empty() || shape(b).size() != 2) refuse("no product of " + text(sizes) + " and " + text(shape(b)));
    a = as_rows(a), b = as_rows(b);
    const Matrix left = *matrix(at(a).layout);
    Matrix right = *matrix(at(b).layout);
    if (transposed) right.transposed = !right.transposed, std::swap(right.rows, right.columns);
    if (left.columns != right.rows) refuse("no product of " + text(shape(a)) + " and " + text(shape(b)));
    if (!left.rows || !left.columns || !right.columns) refuse("an empty product");
    sizes.back() = right.columns;
    if (bias >= 0 && shape(bias = plain(bias)) != Dims{right.columns}) refuse("a layer's bias has shape " + text(shape(bias)));
    const int made = add_plain(sizes);
    std::vector<int> slots{a, b, made};
    if (bias >= 0) slots.push_back(bias);
    if (!relu)
        bounded(made, [=, terms = static_cast<double>(left.columns)] {
            return terms * bound(a) * bound(b) + (bias >= 0 ? bound(bias) : 0);
        });
    add_loop(bias >= 0 || relu ? "layer own" : "product own", slots, workers_for(left.rows * left.columns * right.columns),
             [=](void* const* at) {
                 const auto* x = static_cast<const float*>(at[0]) + left.offset;
                 const auto* y = static_cast<const float*>(at[1]) + right.offset;
                 auto* out = static_cast<float*>(at[2]);
                 multiply(Product{x, left.leading, left.transposed, y, right.leading, right.transposed, left.rows, right.columns,
                                  left.columns, out});
                 if (bias < 0 && !relu) return;
                 const auto* added = bias >= 0 ? static_cast<const float*>(at[3]) : nullptr;
                 parallel_for(left.rows, grain_for(right.columns), [&](std::int64_t begin, std::int64_t end) {
                     LEAF(finish_rows<float>)(out + begin * right.columns, end - begin, right.columns, added, relu);
                 });
             });
    return made;
}

int Program::linear_with(int x, int weight, int bias, bool relu) { return multiplied(x, weight, true, bias, relu); }
int Program::product(int a, int b) { return multiplied(a, b, false, -1, false); }

void Program::expect_type(int x, const AnyArray& weight, const std::optional<AnyArray>& bias) const {
    for (const AnyArray* one : {&weight, bias ? &*bias : &weight})
        if (one->type() != type(x)) refuse(std::string("a layer of ") + name_of(one->type()) + " is given " + name_of(type(x)));
}

// x [..., K], weight [O, K]: the dims in front are one to the product.
int Program::linear(int x, std::int64_t key, const AnyArray& weight, std::int64_t bias_key, const std::optional<AnyArray>& bias,
                    const std::vector<After>& after) {
    const Dims sizes = shape(x), of_weight = weight.shape();
    if (sizes.empty() || of_weight.size() != 2 || of_weight[1] != sizes.back())
        refuse("a layer's weight of " + text(of_weight) + " does not fit an input of " + text(sizes));
    const std::int64_t inner = sizes.back(), wide = of_weight[0];
    std::int64_t rows = 1;
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) rows *= sizes[i];
    Dims whole = sizes;
    whole.back() = wide;
    const Dims flat{rows, wide};
    const std::int64_t products = rows * inner * wide;
    use_threads(workers_for(products));
    expect_type(x, weight, bias);
    const Kind kind = weight.kind();
    const Layout source = plain_layout({rows, inner}, kind), result = plain_layout(flat, kind);
    std::vector<After> kept;
    for (After one : after) {
        // What is added lies as the rows do.
        if (one.what == dnnl::algorithm::binary_add) {
            const int slot = plain(one.slot);
            one.over = one.over && slot == one.slot;
            one.slot = alike_values(add_slot_in(result, at(slot).space, true), slot);
        }
        kept.push_back(one);
    }
    const double heaviest = store_->heaviest(key, weight);
    const double added = bias ? largest_value(bias->type(), bias->data(), wide) : 0;
    const auto sum = [=] { return heaviest * bound(x) + added; };
    expect_no_overflow(kept, {x}, sum);
    const int from = plain(x), rows_of_x = add_slot_in(source, at(from).space, true);
    std::vector<std::pair<int, int>> arguments;
    const auto with = attributes(kept, result, arguments);
    const Layout bias_layout = bias ? plain_layout({1, wide}, bias->kind()) : Layout();
    const dnnl::matmul::primitive_desc description(engine(), source, describe_freely({inner, wide}, kind), bias_layout, result, with);
    arguments.emplace_back(DNNL_ARG_SRC, rows_of_x);
    arguments.emplace_back(DNNL_ARG_WEIGHTS, keep(key, weight.data(), describe({inner, wide}, {1, inner}, kind), description.weights_desc()));
    if (bias) arguments.emplace_back(DNNL_ARG_BIAS, keep(bias_key, bias->data(), bias_layout, bias_layout));
    const int made = result_for(result, kept);
    arguments.emplace_back(DNNL_ARG_DST, made);
    add("linear", description, std::move(arguments), products);
    return bounded(add_slot_in(plain_layout(whole, kind), at(made).space, true), [=] { return after_all(sum(), kept); });
}

// a [..., M, K] times b [..., K, N], or with `transposed` b [..., N, K]; `scale` times the result.
int Program::matmul(int a, int b, bool transposed, float scale, const std::vector<After>& after) {
    Layout left = at(a).layout, right = at(b).layout;
    const int rank = static_cast<int>(left.get_dims().size());
    if (rank < 2 || static_cast<int>(right.get_dims().size()) != rank) refuse("a compiled product has operands of as many dims");
    if (left.get_inner_nblks()) left = at(a = plain(a)).layout;
    if (right.get_inner_nblks()) right = at(b = plain(b)).layout;
    if (transposed) {
        std::vector<int> order(static_cast<std::size_t>(rank));
        for (int i = 0; i < rank; ++i) order[static_cast<std::size_t>(i)] = i;
        std::swap(order[static_cast<std::size_t>(rank - 1)], order[static_cast<std::size_t>(rank - 2)]);
        right = right.permute_axes(order);
    }
    Dims result = left.get_dims();
    const Dims other = right.get_dims();
    result.back() = other.back();
    for (std::size_t i = 0; i + 2 < result.size(); ++i) result[i] = std::max(result[i], other[i]);
    const std::int64_t products = count_of(result) * left.get_dims().back();
    use_threads(workers_for(products));
    std::vector<After> kept = after;
    if (scale != 1.f) kept.insert(kept.begin(), After{dnnl::algorithm::eltwise_linear, scale, 0.f, -1, false});
    std::vector<std::pair<int, int>> arguments;
    const Layout lies = plain_layout(result, left.get_data_type());
    const auto sum = [=, terms = static_cast<double>(left.get_dims().back())] { return terms * bound(a) * bound(b); };
    expect_no_overflow(kept, {a, b}, sum);
    const auto with = attributes(kept, lies, arguments);
    const dnnl::matmul::primitive_desc description(engine(), left, right, lies, with);
    const int b_seen = add_slot_in(right, at(b).space, true);
    const int made = result_for(lies, kept);
    arguments.insert(arguments.end(), {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b_seen}, {DNNL_ARG_DST, made}});
    add("product", description, std::move(arguments), products);
    return bounded(made, [=] { return after_all(sum(), kept); });
}

}  // namespace workbench::compiled
