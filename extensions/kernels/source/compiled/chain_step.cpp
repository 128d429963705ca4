// Chains as steps: values stay as they lie, blocks of channels too.
#include <algorithm>

#include "steps.hpp"

namespace workbench::compiled {
namespace {

// Sizes and strides of one operand, where the dim that the result has in blocks is two dims: of blocks, and inside one.
struct Seen {
    Dims sizes, strides;
};

struct Blocks {
    int dim = -1;
    std::int64_t size = 1;
};

// The dim that a layout has in blocks; none where it has none. `simple` says whether there are no others, and no padding.
Blocks blocks_of(const Layout& layout, bool& simple) {
    simple = layout.get_inner_nblks() <= 1 && layout.get_padded_dims() == layout.get_dims();
    if (layout.get_inner_nblks() != 1) return {};
    return {static_cast<int>(layout.get_inner_idxs()[0]), layout.get_inner_blks()[0]};
}

Seen seen(const Layout& layout, const Blocks& blocks, std::size_t rank) {
    const Dims sizes = layout.get_dims(), strides = layout.get_strides();
    const std::size_t missing = rank - sizes.size();
    Seen found;
    for (std::size_t i = 0; i < rank; ++i) {
        const std::int64_t size = i < missing ? 1 : sizes[i - missing], stride = i < missing ? 0 : strides[i - missing];
        if (static_cast<int>(i) != blocks.dim) {
            found.sizes.push_back(size), found.strides.push_back(stride);
        } else if (layout.get_inner_nblks()) {  // oneDNN's stride is one from block to block
            found.sizes.insert(found.sizes.end(), {size / blocks.size, blocks.size});
            found.strides.insert(found.strides.end(), {stride, 1});
        } else {
            const bool one = size == 1;
            found.sizes.insert(found.sizes.end(), {one ? 1 : size / blocks.size, one ? 1 : blocks.size});
            found.strides.insert(found.strides.end(), {stride * blocks.size, stride});
        }
    }
    return found;
}

}  // namespace

std::vector<int> Program::chain(std::shared_ptr<const Chain> chain, std::vector<int> inputs, const Dims& sizes, int over) {
    // The result lies as the first operand of its sizes that a step has chosen the order of, or else as the first there is.
    int like = -1;
    // What is dropped by its place is counted row by row.
    for (const int x : inputs)
        if (!chain->draws() && shape(x) == sizes && (like < 0 || (at(x).settled && !at(like).settled))) like = x;
    const auto is_dense = [&](int x) {
        return at(x).layout.get_size() == static_cast<std::size_t>(count_of(sizes)) * size_of_value(type(x));
    };
    bool simple = true;
    Layout order = like >= 0 && is_dense(like) ? at(like).layout : plain_layout(sizes);
    Blocks blocks = blocks_of(order, simple);
    if (!simple || !with_type_of(order, Kind::f32)) order = plain_layout(sizes), blocks = {};
    // An operand in blocks of its own is turned to lie as the result does, or row by row.
    for (int& x : inputs)
        if (at(x).layout.get_inner_nblks()) {
            const auto as_result = with_type_of(order, at(x).layout.get_data_type());
            if (at(x).layout != *as_result) x = shape(x) == sizes ? laid(x, *as_result) : plain(x);
        }

    std::vector<Dims> shapes, strides;
    Dims begins;  // in bytes
    for (const int x : inputs) {
        Seen one = seen(at(x).layout, blocks, sizes.size());
        shapes.push_back(std::move(one.sizes)), strides.push_back(std::move(one.strides));
        begins.push_back(at(x).layout.get_submemory_offset() * static_cast<std::int64_t>(size_of_value(type(x))));
    }
    const Seen result = seen(order, blocks, sizes.size());
    auto plan = std::make_shared<const ChainPlan>(chain->plan(result.sizes, result.strides, shapes, strides));

    std::vector<std::pair<int, int>> arguments;
    for (const int x : inputs) arguments.emplace_back(0, x);
    const std::size_t outputs = chain->code().outputs.size();
    std::vector<int> made;
    for (std::size_t i = 0; i < outputs; ++i) {
        const Storage of = chain->code().outputs[i];
        const Layout layout = *with_type_of(order, kind_of_values(of));
        // Written over an operand that lies as the result does, and that no other operand shows.
        const int old = i == 0 && outputs == 1 && over >= 0 ? inputs.at(static_cast<std::size_t>(over)) : -1;
        const auto same = [&](int x) { return at(x).space == at(old).space; };
        const bool may = old >= 0 && may_write(old) && type(old) == of && at(old).layout == layout &&
                         std::count_if(inputs.begin(), inputs.end(), same) == 1 &&
                         spaces_[static_cast<std::size_t>(at(old).space)].bytes == layout.get_size();
        made.push_back(may ? add_slot_in(layout, at(old).space, true) : add_slot_of(of, layout, true));
        slots_.back().single = sizes.empty();
        arguments.emplace_back(0, made.back());
        bounded(made.back(), [this, chain, inputs, i] {
            std::vector<double> given;
            for (const int x : inputs) given.push_back(bound(x));
            return chain->bounds(given)[i];
        });
    }
    Step step;
    step.name = "chain of " + std::to_string(chain->code().instructions.size() - 1);
    step.arguments = std::move(arguments);
    step.threads = thread_count();
    step.loop = [chain = std::move(chain), plan = std::move(plan), begins](void* const* places) {
        std::vector<const void*> given;
        for (std::size_t i = 0; i < begins.size(); ++i) given.push_back(static_cast<const char*>(places[i]) + begins[i]);
        chain->run(*plan, given.data(), places + begins.size());
    };
    add_step(std::move(step));
    return made;
}

}  // namespace workbench::compiled
