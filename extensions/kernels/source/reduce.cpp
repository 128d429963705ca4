// Sums, means and extremes of float32 or bfloat16 over any dimensions. The input is walked in the order of its memory.
#include "reduce.hpp"

#include <algorithm>
#include <array>
#include <limits>

#define WORKBENCH_LEAVES "leaves/reduce.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "threads.hpp"
#include "broadcast.hpp"

namespace workbench {
namespace {

// Some of the walked dimensions, as one: where the i-th combination of them lies.
struct Combined {
    Dims sizes, from_steps, to_steps;
    std::int64_t count = 1;

    void add(std::int64_t size, std::int64_t from_step, std::int64_t to_step) {
        sizes.push_back(size), from_steps.push_back(from_step), to_steps.push_back(to_step);
        count *= size;
    }
    std::pair<std::int64_t, std::int64_t> at(std::int64_t index) const {
        std::int64_t from = 0, to = 0;
        for (std::size_t i = sizes.size(); i-- > 0;) {
            const std::int64_t here = i ? index % sizes[i] : index;
            from += here * from_steps[i], to += here * to_steps[i];
            if (i) index /= sizes[i];
        }
        return {from, to};
    }
};

constexpr std::int64_t widest = 4096;  // columns that a leaf takes at once

// A reduction as a sum over `reduced` x `deep` of rows of `columns` values, for each of `kept`.
struct Plan {
    Combined kept, reduced;
    std::int64_t deep = 1, columns = 1, row_step = 1, column_step = 1;

    explicit Plan(const Broadcast& walk) {
        std::size_t leading = walk.sizes.size();
        Dims steps(leading);
        std::int64_t step = 1;
        for (std::size_t i = leading; i-- > 0;) steps[i] = step, step *= walk.sizes[i];
        if (walk.steps.back() != 0) {
            --leading;
            columns = walk.sizes[leading], column_step = walk.steps[leading];
        }
        if (leading && walk.steps[leading - 1] == 0) {
            --leading;
            deep = walk.sizes[leading], row_step = steps[leading];
        }
        for (std::size_t i = 0; i < leading; ++i)
            (walk.steps[i] ? kept : reduced).add(walk.sizes[i], steps[i], walk.steps[i]);
    }
};

double neutral(Reduction kind) {
    if (kind == Reduction::amax) return -std::numeric_limits<double>::infinity();
    if (kind == Reduction::amin) return std::numeric_limits<double>::infinity();
    return 0;
}

double combined(Reduction kind, double a, double b) {
    if (kind == Reduction::amax) return b > a || b != b ? b : a;
    if (kind == Reduction::amin) return b < a || b != b ? b : a;
    return a + b;
}

// total (op)= what lies at `x`, rows [begin, end) of all that is reduced, `columns` of each.
template <typename T>
void accumulate(Reduction kind, const Plan& plan, const T* x, std::int64_t columns, std::int64_t begin, std::int64_t end,
                double* total) {
    while (begin < end) {
        const std::int64_t row = begin % plan.deep, rows = std::min(plan.deep - row, end - begin);
        const T* from = x + plan.reduced.at(begin / plan.deep).first + row * plan.row_step;
        if (plan.columns == 1 && plan.row_step == 1)
            *total = combined(kind, *total, LEAF_WIDE(run_reduced<T>)(kind, from, rows));
        else
            LEAF_WIDE(rows_reduced<T>)(kind, from, rows, columns, plan.row_step, total);
        begin += rows;
    }
}

template <typename T>
void reduce_all(Reduction kind, const Plan& plan, const T* x, double divisor, T* out) {
    const std::int64_t blocks = (plan.columns + widest - 1) / widest, tasks = plan.kept.count * blocks;
    const std::int64_t deep = plan.reduced.count * plan.deep, width = std::min(plan.columns, widest);
    const auto finish = [&](const double* total, std::int64_t columns, T* to) {
        for (std::int64_t c = 0; c < columns; ++c)
            to[c * plan.column_step] = static_cast<float>(kind == Reduction::mean ? total[c] / divisor : total[c]);
    };
    const auto place = [&](std::int64_t task) {
        auto [from, to] = plan.kept.at(task / blocks);
        const std::int64_t first = task % blocks * widest;
        return std::array<std::int64_t, 3>{from + first, to + first * plan.column_step, std::min(widest, plan.columns - first)};
    };
    if (plan.columns == 1 && plan.row_step == 1 && plan.reduced.sizes.empty() && plan.kept.sizes.size() == 1 &&
        tasks >= thread_count()) {
        const std::int64_t step = plan.kept.from_steps[0], out_step = plan.kept.to_steps[0];
        parallel_for(tasks, grain_for(deep), [&](std::int64_t begin, std::int64_t end) {
            LEAF_WIDE(runs_reduced<T>)(kind, x + begin * step, end - begin, deep, step, divisor, out + begin * out_step, out_step);
        });
        return;
    }
    const std::int64_t parts = tasks >= thread_count() ? 1 : part_count(deep, grain_for(plan.columns * plan.kept.count));
    if (parts == 1) {
        parallel_for(tasks, grain_for(deep * width), [&](std::int64_t begin, std::int64_t end) {
            const Buffer<double> total(width);
            for (std::int64_t task = begin; task < end; ++task) {
                const auto [from, to, columns] = place(task);
                std::fill_n(total.data(), columns, neutral(kind));
                accumulate(kind, plan, x + from, columns, 0, deep, total.data());
                finish(total.data(), columns, out + to);
            }
        });
        return;
    }
    // Fewer results than threads: each part of the rows has totals of its own, which are added in order.
    const Buffer<double> totals(parts * tasks * width);
    std::fill_n(totals.data(), parts * tasks * width, neutral(kind));
    parallel_parts(deep, parts, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
        for (std::int64_t task = 0; task < tasks; ++task) {
            const auto [from, to, columns] = place(task);
            accumulate(kind, plan, x + from, columns, begin, end, totals.data() + (part * tasks + task) * width);
        }
    });
    for (std::int64_t task = 0; task < tasks; ++task) {
        const auto [from, to, columns] = place(task);
        double* total = totals.data() + task * width;
        for (std::int64_t part = 1; part < parts; ++part)
            for (std::int64_t c = 0; c < columns; ++c)
                total[c] = combined(kind, total[c], totals.data()[(part * tasks + task) * width + c]);
        finish(total, columns, out + to);
    }
}

}  // namespace

struct PlannedReduction::Of {
    Reduction kind;
    Plan plan;
    double divisor;
};

PlannedReduction::PlannedReduction(Reduction kind, const Dims& shape, const Dims& order, const std::vector<bool>& reduced) {
    Dims full = shape, target(shape.size());
    for (std::size_t i = 0; i < shape.size(); ++i)
        if (reduced.at(i)) full[i] = 1;
    const Dims strides = row_major_strides(full);
    for (std::size_t i = 0; i < shape.size(); ++i) target[i] = reduced[i] ? 0 : strides[i];
    const std::int64_t results = count_of(full);
    if (!count_of(shape)) refuse("a planned reduction of " + text(shape) + ": it is empty");
    of_ = std::make_shared<const Of>(Of{kind, Plan(merge(shape, order, target)), static_cast<double>(count_of(shape) / results)});
}

void PlannedReduction::operator()(const float* x, float* out) const { reduce_all(of_->kind, of_->plan, x, of_->divisor, out); }

namespace {

template <typename T>
nb::object reduce(const Input<T>& x, const Dims& dim, bool keepdim, Reduction kind, const char* name) {
    const Dims shape = shape_of(x);
    std::vector<bool> reduced(shape.size(), false);
    for (const std::int64_t axis : dim) {
        if (axis < 0 || axis >= static_cast<std::int64_t>(shape.size()))
            refuse(std::string(name) + " over dim " + std::to_string(axis) + " of shape " + text(shape));
        reduced[static_cast<std::size_t>(axis)] = true;
    }
    Dims full = shape, left;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (reduced[i]) full[i] = 1;
        if (!reduced[i] || keepdim) left.push_back(full[i]);
    }
    const std::int64_t count = count_of(shape), results = count_of(full);
    if (count == 0 && results && kind != Reduction::sum)
        refuse(std::string(name) + " of shape " + text(shape) + ": nothing has none");
    auto out = Output<T>::row_major(left);
    {
        KernelScope scope;
        if (count == 0) {
            std::fill_n(out.data(), results, 0.f);
        } else {
            const Dims order = dense_strides_like(shape, strides_of(x)), full_strides = row_major_strides(full);
            const Dense<T> input(x, order);
            Dims target(shape.size());
            for (std::size_t i = 0; i < shape.size(); ++i) target[i] = reduced[i] ? 0 : full_strides[i];
            const Plan plan(merge(shape, order, target));
            reduce_all(kind, plan, input.data(), static_cast<double>(count / results), out.data());
        }
    }
    return out.to_python();
}

template <typename T>
void bind_alike(nb::module_& module) {
    using nb::arg;
    static constexpr std::pair<const char*, Reduction> kinds[] = {
        {"sum", Reduction::sum}, {"mean", Reduction::mean}, {"amax", Reduction::amax}, {"amin", Reduction::amin}};
    for (const auto& [name, kind] : kinds)
        module.def(
            name,
            [name = name, kind = kind](const Input<T>& x, const Dims& dim, bool keepdim) {
                return reduce<T>(x, dim, keepdim, kind, name);
            },
            arg("x").noconvert(), nb::kw_only(), arg("dim"), arg("keepdim"));
}

}  // namespace

void bind_reduce(nb::module_& module) {
    bind_alike<float>(module);
    nb::module_ half = bfloat16_module(module);
    bind_alike<bfloat16>(half);
}

}  // namespace workbench
