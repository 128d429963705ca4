// Embeddings: rows of a table in codes, and their sums, means and greatest values by bags. Only rows that are named become numbers.
#include "tables_of_codes.hpp"

#include <algorithm>
#include <optional>

#define WORKBENCH_LEAVES "leaves/tables_of_codes.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

TableOfCodes checked(const Plain<std::uint8_t>& codes, const Plain<float>& scales, const Plain<float>& zeros, std::int64_t width, int bits) {
    const Dims shape = shape_of(codes);
    if (bits != 4 && bits != 8) refuse("tables have codes of 4 or 8 bits, not of " + std::to_string(bits));
    if (shape.size() != 2 || shape[1] != (width * bits + 7) / 8)
        refuse("a table of " + std::to_string(width) + " codes of " + std::to_string(bits) + " bits a row has no memory of " + text(shape));
    for (const auto* one : {&scales, &zeros})
        if (shape_of(*one) != Dims{shape[0]})
            refuse("a table of " + std::to_string(shape[0]) + " rows has as many scales and zero points, not " + text(shape_of(*one)));
    return {codes.data(), shape[1], width, bits, scales.data(), zeros.data()};
}

void check_rows(const Plain<std::int64_t>& indices, std::int64_t rows) {
    const std::int64_t count = count_of(shape_of(indices));
    for (std::int64_t i = 0; i < count; ++i)
        if (indices.data()[i] < 0 || indices.data()[i] >= rows)
            refuse("row " + std::to_string(indices.data()[i]) + " is not one of " + std::to_string(rows));
}

nb::object rows(const Plain<std::uint8_t>& codes, const Plain<float>& scales, const Plain<float>& zeros, std::int64_t width, int bits,
                const Plain<std::int64_t>& indices) {
    const TableOfCodes table = checked(codes, scales, zeros, width, bits);
    check_rows(indices, static_cast<std::int64_t>(codes.shape(0)));
    const std::int64_t count = count_of(shape_of(indices));
    auto out = Output<float>::row_major({count, width});
    {
        KernelScope scope;
        parallel_for(count, grain_for(width), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) LEAF_WIDE(row_of_codes)(table, indices.data()[i], 1.f, 0, out.data() + i * width);
        });
    }
    return out.to_python();
}

// `edges`: where bags begin and end. `how`: 1 sum, 2 mean, 3 greatest value. Rows at `padding` do not count, and a bag without rows is 0.
nb::object bags(const Plain<std::uint8_t>& codes, const Plain<float>& scales, const Plain<float>& zeros, std::int64_t width, int bits,
                const Plain<std::int64_t>& indices, const Plain<std::int64_t>& edges, const std::optional<Plain<float>>& weights, int how,
                std::int64_t padding) {
    const TableOfCodes table = checked(codes, scales, zeros, width, bits);
    check_rows(indices, static_cast<std::int64_t>(codes.shape(0)));
    const Dims shape = shape_of(edges);
    const std::int64_t total = count_of(shape_of(indices));
    if (shape.size() != 1 || shape[0] < 1) refuse("bags have edges, one more than there are bags, not " + text(shape));
    for (std::int64_t i = 0; i < shape[0]; ++i)
        if (edges.data()[i] < 0 || edges.data()[i] > total || (i && edges.data()[i] < edges.data()[i - 1]))
            refuse("bags begin one after the other within " + std::to_string(total) + " places, not at " + std::to_string(edges.data()[i]));
    if (weights && count_of(shape_of(*weights)) != total) refuse("each place has a weight, " + std::to_string(total) + " in all");
    if (how < 1 || how > 3) refuse("bags are summed, averaged, or their greatest values taken");
    auto out = Output<float>::row_major({shape[0] - 1, width});
    {
        KernelScope scope;
        parallel_for(shape[0] - 1, grain_for(width * std::max<std::int64_t>(1, total / std::max<std::int64_t>(1, shape[0] - 1))),
                     [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t bag = begin; bag < end; ++bag) {
                float* to = out.data() + bag * width;
                std::int64_t many = 0;
                for (std::int64_t i = edges.data()[bag]; i < edges.data()[bag + 1]; ++i) {
                    const std::int64_t row = indices.data()[i];
                    if (row == padding) continue;
                    LEAF_WIDE(row_of_codes)(table, row, weights ? weights->data()[i] : 1.f, many++ == 0 ? 0 : how == 3 ? 2 : 1, to);
                }
                if (!many) std::fill_n(to, width, 0.f);
                if (how == 2 && many > 1) LEAF_WIDE(divided)(to, width, static_cast<float>(many));
            }
        });
    }
    return out.to_python();
}

}  // namespace

void bind_tables_of_codes(nb::module_& module) {
    using nb::arg;
    module.def("rows_of_codes", &rows, arg("codes").noconvert(), arg("scales").noconvert(), arg("zeros").noconvert(), arg("width"), arg("bits"),
               arg("indices").noconvert());
    module.def("bags_of_codes", &bags, arg("codes").noconvert(), arg("scales").noconvert(), arg("zeros").noconvert(), arg("width"), arg("bits"),
               arg("indices").noconvert(), arg("edges").noconvert(), arg("weights").noconvert().none(), arg("how"), arg("padding"));
}

}  // namespace workbench
