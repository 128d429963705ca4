// Steps on values as they lie: elementwise ones, rows, joining, and views that move nothing.
#include "steps.hpp"

namespace workbench::compiled {

int Program::elementwise(int x, const After& what, bool over) {
    hides_nan_ = true;
    const Layout layout = at(x).layout;
    const std::int64_t products = 16 * static_cast<std::int64_t>(layout.get_size());
    use_threads(workers_for(products));
    const dnnl::eltwise_forward::primitive_desc description(engine(), dnnl::prop_kind::forward_inference, what.what, layout, layout,
                                                            what.alpha, what.beta, with_own_room());
    const int made = over && may_write(x) ? add_slot_in(layout, at(x).space, true) : add_slot(layout, true);
    add("elementwise", description, {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, made}}, products);
    return made;
}

int Program::binary(const std::string& what, int a, int b) {
    const auto algorithm = what == "add"   ? dnnl::algorithm::binary_add
                           : what == "sub" ? dnnl::algorithm::binary_sub
                           : what == "mul" ? dnnl::algorithm::binary_mul
                                           : dnnl::algorithm::binary_div;
    // Of as many dims: ones in front. oneDNN stretches the second operand only.
    const std::size_t rank = std::max(shape(a).size(), shape(b).size());
    const auto raised = [&](int x) {
        Dims sizes = shape(x);
        if (sizes.size() == rank) return x;
        sizes.insert(sizes.begin(), rank - sizes.size(), 1);
        return reshape(x, sizes);
    };
    a = raised(a), b = raised(b);
    Dims result = shape(a);
    for (std::size_t i = 0; i < rank; ++i) result[i] = result[i] == 1 ? shape(b)[i] : result[i];
    if (shape(a) == shape(b)) b = laid(b, at(a).layout);
    const std::int64_t products = 64 * count_of(result);
    use_threads(workers_for(products));
    const dnnl::binary::primitive_desc description(engine(), algorithm, at(a).layout, at(b).layout,
                                                   shape(a) == result ? at(a).layout : plain_layout(result), with_own_room());
    const int made = add_slot(description.dst_desc(), true);
    add("elementwise", description, {{DNNL_ARG_SRC_0, a}, {DNNL_ARG_SRC_1, b}, {DNNL_ARG_DST, made}}, products);
    return made;
}

int Program::softmax(int x, int axis) {
    hides_nan_ = true;
    x = plain(x);
    const Layout layout = at(x).layout;
    const std::int64_t products = 16 * static_cast<std::int64_t>(layout.get_size());
    use_threads(workers_for(products));
    const dnnl::softmax_forward::primitive_desc description(engine(), dnnl::prop_kind::forward_inference,
                                                            dnnl::algorithm::softmax_accurate, layout, layout, axis, with_own_room());
    const int made = add_slot(layout, true);
    add("softmax", description, {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, made}}, products);
    return made;
}

// Over the last dim.
int Program::layer_norm(int x, std::int64_t scale_key, const Plain<float>& scale, std::int64_t shift_key, const Plain<float>& shift,
                        float eps) {
    x = plain(x);
    const Layout layout = at(x).layout, of_last = plain_layout({shape(x).back()});
    const std::int64_t products = 16 * static_cast<std::int64_t>(layout.get_size());
    use_threads(workers_for(products));
    const dnnl::layer_normalization_forward::primitive_desc description(
        engine(), dnnl::prop_kind::forward_inference, layout, layout, eps,
        dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift, with_own_room());
    const int made = add_slot(layout, true);
    add("layer norm", description,
        {{DNNL_ARG_SRC, x}, {DNNL_ARG_SCALE, keep(scale_key, scale.data(), of_last, of_last)},
         {DNNL_ARG_SHIFT, keep(shift_key, shift.data(), of_last, of_last)}, {DNNL_ARG_DST, made}}, products);
    return made;
}

int Program::concatenate(const std::vector<int>& parts, int axis) {
    if (parts.empty()) refuse("nothing to concatenate");
    std::vector<Layout> layouts;
    for (const int one : parts) layouts.push_back(at(one).layout);
    use_threads(thread_count());
    const dnnl::concat::primitive_desc description(engine(), axis, layouts, with_own_room());
    const int made = add_slot(description.dst_desc(), true);
    std::vector<std::pair<int, int>> arguments{{DNNL_ARG_DST, made}};
    for (std::size_t i = 0; i < parts.size(); ++i) arguments.emplace_back(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), parts[i]);
    add("concatenate", description, std::move(arguments), 16 * static_cast<std::int64_t>(description.dst_desc().get_size()));
    return made;
}

int Program::reshape(int x, const Dims& sizes) {
    if (count_of(sizes) != count_of(shape(x))) refuse("values of " + text(shape(x)) + " have no shape " + text(sizes));
    const int from = plain(x);
    return add_slot_in(plain_layout(sizes), at(from).space, at(from).settled);
}

int Program::permute(int x, const std::vector<int>& order) {
    if (at(x).layout.get_inner_nblks()) x = plain(x);
    // oneDNN asks where each dim goes to, we say where it comes from.
    std::vector<int> to(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) to.at(static_cast<std::size_t>(order[i])) = static_cast<int>(i);
    return add_slot_in(at(x).layout.permute_axes(to), at(x).space, at(x).settled);
}

int Program::part(int x, const Dims& start, const Dims& sizes) {
    if (at(x).layout.get_inner_nblks()) x = plain(x);
    return add_slot_in(at(x).layout.submemory_desc(sizes, start), at(x).space, at(x).settled);
}

}  // namespace workbench::compiled
