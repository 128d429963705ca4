// Attention that is trained: the logarithms of its sums are kept, weights are dropped by a seed, and the gradient computes them again.
#include "attention_steps.hpp"

namespace workbench::compiled {
namespace {

// Heads as they lie in a slot, for a run to put their memory in.
struct Placed {
    HeadsInPlace heads;
    std::int64_t offset = 0;

    Placed() = default;
    explicit Placed(const Layout& layout) : heads(heads_of(layout)), offset(layout.get_submemory_offset()) {
        // gemm wants to know of one row, too, how far the next would be.
        heads.strides[2] = std::max(heads.strides[2], heads.shape[3]);
    }
    HeadsInPlace at(void* place) const {
        HeadsInPlace found = heads;
        found.data = static_cast<float*>(place) + offset;
        return found;
    }
};

// A result of these sizes with the values of a row beside each other, and else in the order of what it belongs to.
Layout like(const Dims& shape, const Layout& layout) {
    Dims order = layout.get_strides();
    order[3] = 0;
    return describe_floats(shape, dense_strides_like(shape, order));
}

std::uint64_t seed_at(const void* place) { return static_cast<std::uint64_t>(*static_cast<const std::int64_t*>(place)); }

}  // namespace

// What attention is given, as its kernel takes it.
Program::Attended Program::attended(int query, int key, int value, int mask, int seed) {
    Attended given{query, key, value, mask, seed};
    for (int* one : {&given.query, &given.key, &given.value})
        if (!fits(at(*one).layout)) *one = plain(*one);
    const Dims q = shape(query), k = shape(key), v = shape(value);
    if (q.size() != 4 || k.size() != 4 || v.size() != 4 || k[0] != q[0] || k[1] != q[1] || k[3] != q[3] || v[0] != q[0] || v[1] != q[1] ||
        v[2] != k[2])
        refuse("attention of " + text(q) + ", " + text(k) + " and " + text(v));
    given.products = count_of({q[0], q[1], q[2], k[2]}) * (q[3] + v[3]);
    if (seed >= 0 && (type(seed) != Storage::int64 || !at(seed).single)) refuse("a seed is one whole number");
    if (mask < 0) return given;
    const Dims scores{q[0], q[1], q[2], k[2]}, sizes = shape(mask);
    if (sizes.size() != 4) refuse("attention's mask does not stretch to " + text(scores));
    for (std::size_t i = 0; i < 4; ++i)
        if ((sizes[i] != 1 || i == 3) && sizes[i] != scores[i]) refuse("attention's mask does not stretch to " + text(scores));
    const Layout lies = at(mask).layout;
    if (lies.get_inner_nblks() || (sizes[3] > 1 && lies.get_strides()[3] != 1)) given.mask = plain(mask);
    return given;
}

// The result, and for each query the logarithm of the sum of its exponentials.
std::vector<int> Program::attention_kept(int query, int key, int value, int mask, int seed, double scale, bool causal, double dropout) {
    const Attended given = attended(query, key, value, mask, seed);
    if (causal) expect_finite({given.query, given.key, given.value});
    const Dims q = shape(query), result{q[0], q[1], q[2], shape(value)[3]};
    const int made = add_slot(like(result, at(given.query).layout), true), normals = add_plain({q[0], q[1], q[2]});
    std::vector<int> slots{given.query, given.key, given.value, made, normals};
    for (const int one : {given.mask, given.seed})
        if (one >= 0) slots.push_back(one);
    const Placed a(at(given.query).layout), b(at(given.key).layout), c(at(given.value).layout), y(at(made).layout);
    const bool masked = given.mask >= 0, draws = given.seed >= 0;
    const Placed m = masked ? Placed(at(given.mask).layout) : Placed();
    add_loop("attention kept own", slots, workers_for(given.products), [=](void* const* at) {
        const Attending how{scale, causal, draws ? dropout : 0.0, draws ? seed_at(at[masked ? 6 : 5]) : 0};
        attend(a.at(at[0]), b.at(at[1]), c.at(at[2]), masked ? m.at(at[5]) : HeadsInPlace(), how, y.at(at[3]), static_cast<float*>(at[4]));
    });
    return {made, normals};
}

std::vector<int> Program::attention_gradient(int gradient, int query, int key, int value, int output, int normals, int mask, int seed,
                                             double scale, bool causal, double dropout) {
    const Attended given = attended(query, key, value, mask, seed);
    if (causal) expect_finite({given.query, given.key, given.value});
    for (int* one : {&gradient, &output})
        if (!fits(at(*one).layout)) *one = plain(*one);
    const Dims q = shape(query), result{q[0], q[1], q[2], shape(value)[3]};
    if (shape(gradient) != result || shape(output) != result || shape(normals) != Dims{q[0], q[1], q[2]})
        refuse("attention's gradient has shape " + text(shape(gradient)) + ", its result " + text(shape(output)));
    normals = plain(normals);
    std::vector<int> slots{gradient, given.query, given.key, given.value, output, normals}, made;
    for (const int one : {given.query, given.key, given.value}) made.push_back(add_slot(like(shape(one), at(one).layout), true));
    slots.insert(slots.end(), made.begin(), made.end());
    for (const int one : {given.mask, given.seed})
        if (one >= 0) slots.push_back(one);
    std::vector<Placed> placed;
    for (const int one : {gradient, given.query, given.key, given.value, output, made[0], made[1], made[2]}) placed.emplace_back(at(one).layout);
    const bool masked = given.mask >= 0, draws = given.seed >= 0;
    const Placed m = masked ? Placed(at(given.mask).layout) : Placed();
    add_loop("attention's gradient own", slots, workers_for(2 * given.products), [=](void* const* at) {
        const Attending how{scale, causal, draws ? dropout : 0.0, draws ? seed_at(at[masked ? 10 : 9]) : 0};
        attend_gradient(placed[0].at(at[0]), placed[1].at(at[1]), placed[2].at(at[2]), placed[3].at(at[3]), placed[4].at(at[4]),
                        static_cast<const float*>(at[5]), masked ? m.at(at[9]) : HeadsInPlace(), how, placed[5].at(at[6]),
                        placed[6].at(at[7]), placed[7].at(at[8]));
    });
    return made;
}

}  // namespace workbench::compiled
