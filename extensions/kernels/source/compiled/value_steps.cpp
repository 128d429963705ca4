// Steps on values as they lie: rows, joining, dropping, and views that move nothing.
#include "../broadcast.hpp"
#include "../dropout.hpp"
#include "../softmax.hpp"
#include "steps.hpp"

#include <cmath>
#include <cstring>

namespace workbench::compiled {

// As the eager kernel does it, in float32: rows of a mask's infinities, and NaN, are what they are there.
int Program::softmax(int x, int axis) {
    const Storage narrow = type(x);
    const int from = plain(cast(x, Storage::float32));
    const Dims sizes = shape(from);
    const int made = add_plain(sizes);
    add_loop("softmax own", {from, made}, workers_for(64 * count_of(sizes)), [sizes, axis](void* const* places) {
        softmax_along<float>(static_cast<const float*>(places[0]), sizes, axis, false, static_cast<float*>(places[1]));
    });
    bounded(made, [=] { return std::isfinite(bound(from)) ? 1 : HUGE_VAL; });
    return cast(made, narrow);
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
    // Of n values none is further from their mean than the root of n deviations, if their squares do not overflow.
    const std::int64_t count = shape(x).back();
    const double largest = largest_value(Storage::float32, scale.data(), count) * std::sqrt(static_cast<double>(count)) +
                           largest_value(Storage::float32, shift.data(), count);
    return bounded(made, [=] { return bound(x) <= 1e15 ? largest : HUGE_VAL; });
}

// Rounded to the nearest. What no step has chosen the order of lies channels-last afterwards: convolutions take it so.
int Program::cast(int x, Storage type) {
    const Kind kind = kind_of_values(type);
    const Dims sizes = shape(x);
    if (at(x).layout.get_data_type() == kind) return x;
    if (!at(x).settled && sizes.size() == 4) return laid(x, describe(sizes, channels_last_strides(sizes), kind));
    const auto same = with_type_of(at(x).layout, kind);
    return same ? laid(x, *same) : laid(x, plain_layout(sizes, kind));
}

int Program::concatenate(const std::vector<int>& parts, int axis) {
    if (parts.empty()) refuse("nothing to concatenate");
    std::vector<Layout> layouts;
    for (const int one : parts) layouts.push_back(at(one).layout);
    use_threads(thread_count());
    const dnnl::concat::primitive_desc description(engine(), axis, layouts, with_own_room());
    const int made = add_slot_of(type(parts[0]), description.dst_desc(), true);
    std::vector<std::pair<int, int>> arguments{{DNNL_ARG_DST, made}};
    for (std::size_t i = 0; i < parts.size(); ++i) arguments.emplace_back(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), parts[i]);
    add("concatenate", description, std::move(arguments), 16 * static_cast<std::int64_t>(description.dst_desc().get_size()));
    return bounded(made, [=] {
        double largest = 0;
        for (const int one : parts) largest = std::max(largest, bound(one));
        return largest;
    });
}

int Program::reshape(int x, const Dims& sizes) {
    if (count_of(sizes) != count_of(shape(x))) refuse("values of " + text(shape(x)) + " have no shape " + text(sizes));
    const int from = plain(x);
    const int made = add_slot_in(plain_layout(sizes, at(from).layout.get_data_type()), at(from).space, at(from).settled);
    slots_.back().single = sizes.empty();
    return alike_values(made, from);
}

int Program::lay_out(int x, const std::vector<int>& order) {
    const Dims sizes = shape(x);
    Dims strides(sizes.size());
    std::vector<bool> met(sizes.size(), false);
    std::int64_t step = 1;
    for (auto dim = order.rbegin(); dim != order.rend(); ++dim) {
        const auto place = static_cast<std::size_t>(*dim);
        if (place >= sizes.size() || met[place]) refuse("values of " + text(sizes) + " do not lie in such an order");
        strides[place] = step, step *= sizes[place], met[place] = true;
    }
    if (order.size() != sizes.size()) refuse("values of " + text(sizes) + " do not lie in such an order");
    // Settled even where it lies so already, as an image of one channel does: the steps behind take it as it is.
    const int laid_so = laid(x, describe(sizes, strides, at(x).layout.get_data_type()));
    return laid_so == x ? alike_values(add_slot_in(at(x).layout, at(x).space, true), x) : laid_so;
}

int Program::permute(int x, const std::vector<int>& order) {
    if (at(x).layout.get_inner_nblks()) x = plain(x);
    // oneDNN asks where each dim goes to, we say where it comes from.
    std::vector<int> to(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) to.at(static_cast<std::size_t>(order[i])) = static_cast<int>(i);
    return alike_values(add_slot_in(at(x).layout.permute_axes(to), at(x).space, at(x).settled), x);
}

int Program::part(int x, const Dims& start, const Dims& sizes) {
    if (at(x).layout.get_inner_nblks()) x = plain(x);
    return alike_values(add_slot_in(at(x).layout.submemory_desc(sizes, start), at(x).space, at(x).settled), x);
}

int Program::placed(int x, const Dims& start, const Dims& sizes) {
    const Dims part = shape(x);
    if (part.size() != sizes.size() || start.size() != sizes.size()) refuse("no part of " + text(sizes) + " is " + text(part));
    for (std::size_t i = 0; i < sizes.size(); ++i)
        if (start[i] < 0 || start[i] + part[i] > sizes[i]) refuse("no part of " + text(sizes) + " is " + text(part) + " from " + text(start));
    if (at(x).layout.get_inner_nblks()) x = plain(x);
    const int made = add_plain(sizes, type(x));
    const Layout from = at(x).layout;
    const Dims target = row_major_strides(sizes);
    const auto width = static_cast<std::int64_t>(size_of_value(type(x)));
    std::int64_t first = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) first += start[i] * target[i];
    add_loop("place", {x, made}, thread_count(), [=, type = type(x), strides = Dims(from.get_strides()), offset = from.get_submemory_offset()](void* const* at) {
        auto* to = static_cast<char*>(at[1]);
        parallel_for(count_of(sizes) * width, 1 << 16, [&](std::int64_t begin, std::int64_t end) { std::memset(to + begin, 0, static_cast<std::size_t>(end - begin)); });
        copy_values(type, to + first * width, target, static_cast<const char*>(at[0]) + offset * width, part, strides);
    });
    return alike_values(made, x);
}

int Program::stretched(int x, const Dims& sizes) {
    if (at(x).layout.get_inner_nblks()) x = plain(x);
    const Layout from = at(x).layout;
    const Dims strides = stretched_strides(shape(x), at(x).single ? Dims{} : Dims(from.get_strides()), sizes);
    const int made = add_plain(sizes, type(x));
    const std::int64_t offset = from.get_submemory_offset() * static_cast<std::int64_t>(size_of_value(type(x)));
    add_loop("stretch", {x, made}, thread_count(), [=, type = type(x)](void* const* at) {
        copy_values(type, at[1], row_major_strides(sizes), static_cast<const char*>(at[0]) + offset, sizes, strides);
    });
    return alike_values(made, x);
}

// Whether the values fill their memory, whatever the order of their dims.
bool Program::fills_memory(int x) const {
    const Layout layout = at(x).layout;
    return !layout.get_inner_nblks() && layout.get_submemory_offset() == 0 &&
           layout.get_size() == static_cast<std::size_t>(count_of(shape(x))) * size_of_value(type(x));
}

int Program::dropout(int x, int seed, double p, const std::pair<std::int64_t, std::int64_t>& drawn, double scale, double high, double low) {
    if (type(seed) != Storage::int64 || !at(seed).single) refuse("a seed is one whole number");
    if (!fills_memory(x)) x = plain(x);
    const Dims sizes = shape(x), strides = at(x).single ? Dims{} : Dims(at(x).layout.get_strides());
    const int made = add_slot(at(x).layout, true);
    slots_.back().single = at(x).single;
    add_loop("dropout own", {x, seed, made}, thread_count(), [=, kept = Kept{scale, high, low}](void* const* at) {
        const auto drawn_by = static_cast<std::uint64_t>(*static_cast<const std::int64_t*>(at[1]));
        drop_values<float>(static_cast<const float*>(at[0]), sizes, strides, p, drawn_by, drawn, kept, static_cast<float*>(at[2]));
    });
    return made;
}

}  // namespace workbench::compiled
