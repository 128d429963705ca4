// Sums, means and extremes over dims of values as they lie, blocks of channels too.
#include <numeric>

#include "../reduce.hpp"
#include "steps.hpp"

namespace workbench::compiled {
namespace {

// Whether the values fill their memory, whatever the order of their dims.
bool is_dense(const Layout& layout) {
    return layout.get_size() == static_cast<std::size_t>(count_of(layout.get_dims())) * sizeof(float) &&
           layout.get_submemory_offset() == 0;
}

Reduction reduction(const std::string& kind) {
    if (kind == "sum") return Reduction::sum;
    if (kind == "mean") return Reduction::mean;
    if (kind == "amax") return Reduction::amax;
    if (kind == "amin") return Reduction::amin;
    refuse("no step reduces by '" + kind + "'");
}

}  // namespace

int Program::reduce(int x, const std::string& kind, const Dims& dim, bool keep) {
    const Dims sizes = shape(x);
    std::vector<bool> over(sizes.size(), false);
    for (const std::int64_t one : dim) over.at(static_cast<std::size_t>(one)) = true;
    Dims left;
    for (std::size_t i = 0; i < sizes.size(); ++i)
        if (!over[i] || keep) left.push_back(over[i] ? 1 : sizes[i]);
    Layout layout = at(x).layout;
    // One dim in blocks is two: of blocks, and inside one.
    Dims seen = sizes, order = layout.get_strides();
    if (sizes.empty()) seen = {1}, over = {true};
    if (layout.get_inner_nblks() == 1 && layout.get_padded_dims() == layout.get_dims()) {
        const auto blocked = static_cast<std::ptrdiff_t>(layout.get_inner_idxs()[0]);
        const std::int64_t block = layout.get_inner_blks()[0];
        seen[static_cast<std::size_t>(blocked)] /= block;
        seen.insert(seen.begin() + blocked + 1, block), order.insert(order.begin() + blocked + 1, 1);
        over.insert(over.begin() + blocked + 1, over[static_cast<std::size_t>(blocked)]);
    } else if (layout.get_inner_nblks() || !is_dense(layout)) {
        layout = at(x = plain(x)).layout, order = layout.get_strides();
    }
    const PlannedReduction planned(reduction(kind), seen, order, over);
    const int made = add_plain(left);
    add_loop((kind + " own").c_str(), {x, made}, thread_count(), [planned](void* const* places) {
        planned(static_cast<const float*>(places[0]), static_cast<float*>(places[1]));
    });
    const double terms = kind == "sum" ? static_cast<double>(count_of(sizes) / std::max<std::int64_t>(1, count_of(left))) : 1;
    return bounded(made, [=] { return terms * bound(x); });
}

}  // namespace workbench::compiled
