// Attention by head, as the eager kernel does it: heads stay where the projections left them, and scores in the cache.
#include <cmath>

#include "attention_steps.hpp"

namespace workbench::compiled {
int Program::attention(int query, int key, int value, int mask, float scale, bool causal) {
    // In float32, as the eager kernel does it; what is given and what it gives may be narrower.
    const Storage narrow = type(query);
    for (int* one : {&query, &key, &value}) *one = cast(*one, Storage::float32);
    if (mask >= 0) mask = cast(mask, Storage::float32);
    if (causal) expect_finite({query, key, value});
    for (int* one : {&query, &key, &value})
        if (!fits(at(*one).layout)) *one = plain(*one);
    std::vector<std::pair<int, int>> arguments{{0, query}, {0, key}, {0, value}};
    HeadsInPlace q = heads_of(at(query).layout), k = heads_of(at(key).layout), v = heads_of(at(value).layout), added;
    const Dims scores{q.shape[0], q.shape[1], q.shape[2], k.shape[2]};
    // gemm wants to know of one row, too, how far the next would be.
    for (HeadsInPlace* one : {&q, &k, &v}) one->strides[2] = std::max(one->strides[2], one->shape[3]);
    if (mask >= 0) {
        added = heads_of(at(mask).layout);
        if (at(mask).layout.get_inner_nblks() || (added.shape[3] > 1 && added.strides[3] != 1)) added = heads_of(at(mask = plain(mask)).layout);
        for (std::size_t i = 0; i < 4; ++i)
            if ((added.shape[i] != 1 || i == 3) && added.shape[i] != scores[i]) refuse("attention's mask does not stretch to " + text(scores));
        arguments.emplace_back(0, mask);
    }
    // [N, L, H, E] in memory: what follows is one projection of all heads.
    const Dims result{q.shape[0], q.shape[1], q.shape[2], v.shape[3]};
    const Layout layout = describe_floats(result, {result[1] * result[2] * result[3], result[3], result[1] * result[3], 1});
    const int made = add_slot(layout, true);
    arguments.emplace_back(0, made);
    HeadsInPlace out = heads_of(layout);
    out.strides[2] = std::max(out.strides[2], out.shape[3]);
    Step step;
    step.name = "attention own";
    step.arguments = std::move(arguments);
    step.threads = workers_for(count_of(scores) * (q.shape[3] + v.shape[3]));
    const auto offset = [&](int slot) { return at(slot).layout.get_submemory_offset(); };
    const Dims offsets{offset(query), offset(key), offset(value), mask >= 0 ? offset(mask) : 0};
    step.loop = [q, k, v, added, out, offsets, masked = mask >= 0, scale, causal](void* const* places) mutable {
        HeadsInPlace a = q, b = k, c = v, m = added, y = out;
        a.data = static_cast<float*>(places[0]) + offsets[0], b.data = static_cast<float*>(places[1]) + offsets[1];
        c.data = static_cast<float*>(places[2]) + offsets[2], y.data = static_cast<float*>(places[masked ? 4 : 3]);
        if (masked) m.data = static_cast<float*>(places[3]) + offsets[3];
        attend(a, b, c, m, {scale, causal}, y, nullptr);
    };
    add_step(std::move(step));
    // Means of the values, unless a mask leaves a row nothing to see. It is not asked how large it is: infinities are how it says so.
    const double width = static_cast<double>(q.shape[3]) * std::abs(static_cast<double>(scale));
    if (mask < 0) bounded(made, [=] { return width * bound(query) * bound(key) <= 1e37 ? bound(value) : HUGE_VAL; });
    return cast(made, narrow);
}

}  // namespace workbench::compiled
