// Means of windows of codes over one to three dims: whole sums, brought back to codes by one product each.
#include "codes_average.hpp"

#include <algorithm>
#include <vector>

#define WORKBENCH_LEAVES "leaves/codes_average.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

// Where the windows along one dim begin, and where they end: [2, places].
using Edges = Plain<std::int64_t>;

Dims checked(const Dims& input, const std::vector<Edges>& edges, const Dims& factors) {
    if (input.size() < 3 || input.size() > 5 || edges.size() != input.size() - 2)
        refuse("means of codes are taken of [N, C, ...] with 1 to 3 spatial dims, each with its windows, not of " + text(input) +
               " with " + std::to_string(edges.size()));
    Dims output{input[0], input[1]};
    std::int64_t most = 1;
    for (std::size_t dim = 0; dim < edges.size(); ++dim) {
        const Dims shape = shape_of(edges[dim]);
        if (shape.size() != 2 || shape[0] != 2)
            refuse("windows of codes have a beginning and an end each, [2, places], not " + text(shape));
        const std::int64_t *from = edges[dim].data(), *to = from + shape[1];
        std::int64_t longest = 0;
        for (std::int64_t i = 0; i < shape[1]; ++i) {
            if (from[i] < 0 || to[i] < from[i] || to[i] > input[dim + 2])
                refuse("a window of codes from " + std::to_string(from[i]) + " to " + std::to_string(to[i]) +
                       " does not lie within " + std::to_string(input[dim + 2]));
            longest = std::max(longest, to[i] - from[i]);
        }
        most *= std::max<std::int64_t>(1, longest);
        output.push_back(shape[1]);
        if (most > (1 << 22)) refuse("a window of codes has more than 2^22 of them; 32 bits may not hold their sum");
    }
    if (factors != Dims(output.begin() + 2, output.end()))
        refuse("factors of means have shape " + text(factors) + "; expected " + text(Dims(output.begin() + 2, output.end())));
    return output;
}

// As three dims: those that are missing have one place.
CodesWindows windows_of(const Dims& input, const std::vector<Edges>& edges) {
    static constexpr std::int64_t only[2] = {0, 1};
    CodesWindows of{{1, 1, 1}, {1, 1, 1}, {only, only, only}, {only + 1, only + 1, only + 1}};
    const std::size_t missing = 5 - input.size();
    for (std::size_t dim = 0; dim < edges.size(); ++dim) {
        of.sizes[missing + dim] = input[dim + 2];
        of.places[missing + dim] = static_cast<std::int64_t>(edges[dim].shape(1));
        of.begins[missing + dim] = edges[dim].data();
        of.ends[missing + dim] = edges[dim].data() + of.places[missing + dim];
    }
    return of;
}

void average_rows(const std::uint8_t* codes, std::int64_t planes, const CodesWindows& of, const float* factors, const CodesMean& mean,
                  std::uint8_t* out) {
    const std::int64_t plane = of.sizes[0] * of.sizes[1] * of.sizes[2], whole = of.places[0] * of.places[1] * of.places[2];
    parallel_for(planes, grain_for(plane / 2 + whole), [&](std::int64_t begin, std::int64_t end) {
        const Buffer<std::int32_t> row(of.sizes[2]);
        for (std::int64_t i = begin; i < end; ++i)
            LEAF_WIDE(average_plane)(codes + i * plane, of, factors, mean, row.data(), out + i * whole);
    });
}

void average_channels(const std::uint8_t* codes, std::int64_t images, std::int64_t channels, const CodesWindows& of, const float* factors,
                      CodesMean mean, std::uint8_t* out) {
    const std::int64_t plane = of.sizes[1] * of.sizes[2], whole = of.places[0] * of.places[1] * of.places[2];
    const std::int64_t taps = std::max<std::int64_t>(1, of.sizes[0] * plane / whole);
    parallel_for(images * whole, grain_for(taps * channels / 8), [&](std::int64_t begin, std::int64_t end) {
        CodesMean own = mean;
        std::int64_t at = begin % whole;
        std::int64_t place[3] = {at / (of.places[1] * of.places[2]), at / of.places[2] % of.places[1], at % of.places[2]};
        for (std::int64_t i = begin; i < end; ++i) {
            CodesBox box{{0, 0, 0}, {0, 0, 0}, {plane * channels, of.sizes[2] * channels, channels}, channels};
            for (int dim = 0; dim < 3; ++dim) box.from[dim] = of.begins[dim][place[dim]], box.to[dim] = of.ends[dim][place[dim]];
            own.factor = factors[at];
            LEAF_WIDE(average_box)(codes + i / whole * of.sizes[0] * plane * channels, box, own, out + i * channels);
            if (++at == whole) at = 0;
            if (++place[2] == of.places[2]) {
                place[2] = 0;
                if (++place[1] == of.places[1]) place[1] = 0, place[0] = (place[0] + 1) % of.places[0];
            }
        }
    });
}

// What lies row by row stays so, and anything else has its channels last.
template <typename Code>
nb::object average_codes(const Input<Code>& codes, const std::vector<Edges>& edges, const Input<float>& factors, std::int64_t zero) {
    const Dims input = shape_of(codes), output = checked(input, edges, shape_of(factors)), strides = strides_of(codes);
    count_of(input);
    const bool rows = lies_as(input, strides, row_major_strides(input)) && !lies_as(input, strides, channels_last_strides(input));
    Output<Code> out(output, rows ? row_major_strides(output) : channels_last_strides(output));
    if (count_of(output)) {
        KernelScope scope;
        constexpr bool is_signed = std::is_signed_v<Code>;
        const Dense<Code> image(codes, rows ? row_major_strides(input) : channels_last_strides(input));
        const auto by = row_major(factors);
        const auto* from = reinterpret_cast<const std::uint8_t*>(image.data());
        auto* to = reinterpret_cast<std::uint8_t*>(out.data());
        const CodesWindows of = windows_of(input, edges);
        const CodesMean mean{0.f, is_signed ? -128.f : 0.f, static_cast<std::int32_t>(zero), static_cast<std::uint8_t>(is_signed ? 128 : 0)};
        if (rows)
            average_rows(from, input[0] * input[1], of, by.data(), mean, to);
        else
            average_channels(from, input[0], input[1], of, by.data(), mean, to);
    }
    return out.to_python();
}

}  // namespace

void average_planes_of_codes(const std::uint8_t* images, const Dims& sizes, std::int32_t zero, std::uint8_t* out) {
    const std::int64_t channels = sizes[1], plane = sizes[2] * sizes[3];
    const CodesMean mean{1.f / static_cast<float>(plane), 0.f, zero, 0};
    parallel_for(sizes[0], grain_for(plane * channels / 8), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t n = begin; n < end; ++n) {
            const CodesBox box{{0, 0, 0}, {1, 1, plane}, {0, 0, channels}, channels};
            LEAF_WIDE(average_box)(images + n * plane * channels, box, mean, out + n * channels);
        }
    });
}

void bind_codes_average(nb::module_& module) {
    using nb::arg;
    module.def("average_unsigned_codes", &average_codes<std::uint8_t>, arg("codes").noconvert(), arg("edges"),
               arg("factors").noconvert(), arg("zero"));
    module.def("average_signed_codes", &average_codes<std::int8_t>, arg("codes").noconvert(), arg("edges"),
               arg("factors").noconvert(), arg("zero"));
}

}  // namespace workbench
