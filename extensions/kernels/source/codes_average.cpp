// Means of windows of codes over one to three dims: whole sums, brought back to codes by one product each.
#include "codes_average.hpp"

#include <algorithm>
#include <vector>

#define WORKBENCH_LEAVES "leaves/codes_average.inl"
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

// Where the windows along one dim begin and end.
using Edges = std::pair<Dims, Dims>;

Dims checked(const Dims& input, const std::vector<Edges>& edges, const Dims& factors) {
    if (input.size() < 3 || input.size() > 5 || edges.size() != input.size() - 2)
        refuse("means of codes are taken of [N, C, ...] with 1 to 3 spatial dims, each with its windows, not of " + text(input) +
               " with " + std::to_string(edges.size()));
    Dims output{input[0], input[1]};
    std::int64_t most = 1;
    for (std::size_t dim = 0; dim < edges.size(); ++dim) {
        const auto& [from, to] = edges[dim];
        if (from.size() != to.size()) refuse("windows of codes have as many beginnings as ends");
        std::int64_t longest = 0;
        for (std::size_t i = 0; i < from.size(); ++i) {
            if (from[i] < 0 || to[i] < from[i] || to[i] > input[dim + 2])
                refuse("a window of codes from " + std::to_string(from[i]) + " to " + std::to_string(to[i]) +
                       " does not lie within " + std::to_string(input[dim + 2]));
            longest = std::max(longest, to[i] - from[i]);
        }
        most *= std::max<std::int64_t>(1, longest);
        output.push_back(static_cast<std::int64_t>(from.size()));
        if (most > (1 << 22)) refuse("a window of codes has more than 2^22 of them; 32 bits may not hold their sum");
    }
    if (factors != Dims(output.begin() + 2, output.end()))
        refuse("factors of means have shape " + text(factors) + "; expected " + text(Dims(output.begin() + 2, output.end())));
    return output;
}

template <typename Code>
nb::object average_codes(const Input<Code>& codes, const std::vector<Edges>& edges, const Input<float>& factors, std::int64_t zero) {
    const Dims input = shape_of(codes), output = checked(input, edges, shape_of(factors));
    count_of(input);
    auto out = Output<Code>::channels_last(output);
    if (count_of(output)) {
        KernelScope scope;
        const auto image = channels_last(codes);
        const auto by = row_major(factors);
        constexpr bool is_signed = std::is_signed_v<Code>;
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(image.data());
        const std::int64_t channels = input[1], missing = 5 - static_cast<std::int64_t>(input.size());
        // As three dims: those that are missing have one place.
        std::int64_t sizes[3] = {1, 1, 1}, places[3] = {1, 1, 1};
        for (std::size_t dim = 0; dim < edges.size(); ++dim)
            sizes[missing + dim] = input[dim + 2], places[missing + dim] = output[dim + 2];
        const std::int64_t plane = sizes[1] * sizes[2], whole = places[0] * places[1] * places[2];
        const std::int64_t taps = std::max<std::int64_t>(1, count_of(input) / count_of(output));
        parallel_for(input[0] * whole, grain_for(taps * channels / 8), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t at = i % whole;
                const std::int64_t place[3] = {at / (places[1] * places[2]), at / places[2] % places[1], at % places[2]};
                CodesBox box{{0, 0, 0}, {1, 1, 1}, {plane * channels, sizes[2] * channels, channels}, channels};
                for (std::int64_t dim = missing; dim < 3; ++dim) {
                    const auto& [from, to] = edges[static_cast<std::size_t>(dim - missing)];
                    box.from[dim] = from[static_cast<std::size_t>(place[dim])];
                    box.to[dim] = to[static_cast<std::size_t>(place[dim])];
                }
                const std::uint8_t* from = bytes + i / whole * sizes[0] * plane * channels;
                const CodesMean mean{by.data()[at], is_signed ? -128.f : 0.f, static_cast<std::int32_t>(zero),
                                     static_cast<std::uint8_t>(is_signed ? 128 : 0)};
                LEAF(average_box)(from, box, mean, reinterpret_cast<std::uint8_t*>(out.data()) + i * channels);
            }
        });
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
            LEAF(average_box)(images + n * plane * channels, box, mean, out + n * channels);
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
