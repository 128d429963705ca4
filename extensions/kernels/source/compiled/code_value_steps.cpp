// Steps on codes beside layers: sums and products, codes spread among those of zero, planes of volumes, products of matrices,
// softmax and norms. Each is told what codes stand for, and computes what the eager kernel does, by its loops.
#include "../codes.hpp"

#include "../codes_product.hpp"
#include "../codes_rows.hpp"
#include "../threads.hpp"
#include "steps.hpp"

#include <algorithm>
#include <cstring>

namespace workbench::compiled {
namespace {

constexpr std::int64_t codes_of_a_thread = 65536;

const std::uint8_t* bytes(const void* place) { return static_cast<const std::uint8_t*>(place); }
std::uint8_t* bytes(void* place) { return static_cast<std::uint8_t*>(place); }

void expect_codes(bool unsigned_codes) {
    if (!unsigned_codes) refuse("only unsigned codes have such a step");
}

}  // namespace

int Program::combined_codes(int a, int b, const CodesIn& of_a, const CodesIn& of_b, const CodesOut& to, bool product) {
    expect_codes(type(a) == Storage::quint8 && type(b) == Storage::quint8);
    if (shape(a) != shape(b)) refuse("codes of " + text(shape(a)) + " and of " + text(shape(b)) + " are combined");
    a = images_of_codes(a), b = images_of_codes(b);
    const std::int64_t count = count_of(shape(a));
    const int made = add_codes(a, shape(a), Storage::quint8);
    add_loop(product ? "product of codes own" : "sum of told codes own", {a, b, made}, workers_for(8 * count), [=](void* const* places) {
        parallel_for(count, codes_of_a_thread, [&](std::int64_t begin, std::int64_t end) {
            combine_codes(bytes(places[0]) + begin, of_a, bytes(places[1]) + begin, of_b, end - begin, to, product, bytes(places[2]) + begin);
        });
    });
    return made;
}

// Codes at every `stride`-th place from `before` on, among others of one code; those that lie outside are left away.
int Program::spread_codes(int x, const Dims& stride, const Dims& before, const Dims& sizes, std::uint8_t code) {
    expect_codes(type(x) == Storage::quint8 || type(x) == Storage::qint8);
    const Dims from = shape(x);
    if (stride.size() != from.size() || before.size() != from.size() || sizes.size() != from.size())
        refuse("codes of " + text(from) + " are spread by " + text(stride) + " within " + text(sizes));
    x = images_of_codes(x);
    const int made = add_codes(-1, sizes, type(x));
    const Dims own = at(x).layout.get_strides(), to = at(made).layout.get_strides();
    add_loop("codes spread own", {x, made}, workers_for(2 * count_of(sizes)), [=](void* const* places) {
        std::memset(places[1], code, static_cast<std::size_t>(count_of(sizes)));
        const std::size_t rank = from.size();
        // What lies together in both goes at once: channels of images, and the last dim otherwise.
        const std::size_t last = rank == 4 ? 1 : rank - 1;
        std::int64_t rows = 1;
        for (std::size_t dim = 0; dim < rank; ++dim) rows *= dim == last ? 1 : from[dim];
        for (std::int64_t row = 0; row < rows; ++row) {
            std::int64_t rest = row, read = 0, write = 0;
            bool inside = true;
            for (std::size_t dim = rank; dim-- > 0;) {
                if (dim == last) continue;
                const std::int64_t i = rest % from[dim], place = before[dim] + i * stride[dim];
                rest /= from[dim];
                inside = inside && place >= 0 && place < sizes[dim];
                read += i * own[dim], write += place * to[dim];
            }
            if (!inside) continue;
            for (std::int64_t i = 0; i < from[last]; ++i) {
                const std::int64_t place = before[last] + i * stride[last];
                if (place >= 0 && place < sizes[last]) bytes(places[1])[write + place * to[last]] = bytes(places[0])[read + i * own[last]];
            }
        }
    });
    return made;
}

// The planes of volumes [N, C, D, H, W] that each plane of a result sees, side by side as channels: [N·P, groups·KD·C / groups, H, W].
int Program::planes_of_codes(int x, std::int64_t depth, std::int64_t stride, std::int64_t dilation, std::int64_t groups) {
    expect_codes(type(x) == Storage::quint8);
    x = plain(x);
    const Dims from = shape(x);
    if (from.size() != 5 || groups < 1 || from[1] % groups) refuse("planes are of volumes [N, C, D, H, W], not of " + text(from));
    const std::int64_t each = from[1] / groups, places = (from[2] - dilation * (depth - 1) - 1) / stride + 1, plane = from[3] * from[4];
    const std::int64_t channels = groups * depth * each;
    const int made = add_codes(-1, {from[0] * places, channels, from[3], from[4]}, Storage::quint8);
    add_loop("planes of codes own", {x, made}, workers_for(2 * from[0] * places * channels * plane), [=](void* const* at) {
        parallel_for(from[0] * places, 1 + codes_of_a_thread / (1 + channels * plane), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                std::uint8_t* to = bytes(at[1]) + i * channels * plane;
                for (std::int64_t channel = 0; channel < channels; ++channel) {
                    const std::int64_t group = channel / (depth * each), deep = channel / each % depth, own = channel % each;
                    const std::int64_t z = i % places * stride + deep * dilation;
                    const std::uint8_t* codes = bytes(at[0]) + ((i / places * from[1] + group * each + own) * from[2] + z) * plane;
                    for (std::int64_t p = 0; p < plane; ++p) to[p * channels + channel] = codes[p];
                }
            }
        });
    });
    return made;
}

int Program::product_of_codes(int a, int b, std::int64_t a_zero, std::int64_t b_zero, const RowsOut& out) {
    expect_codes(type(a) == Storage::quint8 && type(b) == Storage::quint8);
    a = plain(a), b = plain(b);
    const Dims left = shape(a), right = shape(b);
    const bool one = right.size() == 2;
    if (left.size() < 2 || right.size() < 2 || left.back() != right[right.size() - 2] ||
        (!one && Dims(left.begin(), left.end() - 2) != Dims(right.begin(), right.end() - 2)))
        refuse("matrices of codes of " + text(left) + " and of " + text(right) + " have no product here");
    if (left.back() > longest_product_of_codes) refuse("more than 2^15 products of codes are summed; 32 bits may not hold them");
    Dims sizes(left.begin(), left.end() - 1);
    sizes.push_back(right.back());
    const std::int64_t rows = one ? count_of(left) / std::max<std::int64_t>(1, left.back()) : left[left.size() - 2];
    const std::int64_t batch = one ? 1 : count_of(Dims(left.begin(), left.end() - 2));
    const ProductOfCodes of{batch, rows, left.back(), right.back(), rows * left.back(), one ? 0 : left.back() * right.back(), right.back(), 1,
                            static_cast<std::int32_t>(a_zero), static_cast<std::int32_t>(b_zero), out};
    const int made = add_plain(sizes, Storage::quint8);
    add_loop("product of matrices of codes own", {a, b, made}, thread_count(),
             [=](void* const* places) { multiply_matrices_of_codes(bytes(places[0]), bytes(places[1]), of, bytes(places[2])); });
    return made;
}

// Along the last dim.
int Program::softmax_of_codes(int x, const Plain<std::int32_t>& powers, double scale, const RowsOut& out) {
    expect_codes(type(x) == Storage::quint8);
    if (shape_of(powers) != Dims{256}) refuse("powers of e are one for each distance of codes, [256], not " + text(shape_of(powers)));
    x = plain(x);
    const Dims sizes = shape(x);
    if (sizes.empty() || !count_of(sizes)) refuse("there are no rows of codes in " + text(sizes));
    const int made = add_plain(sizes, Storage::quint8);
    std::vector<std::int32_t> kept(powers.data(), powers.data() + 256);
    add_loop("softmax of codes own", {x, made}, workers_for(8 * count_of(sizes)), [=, kept = std::move(kept)](void* const* places) {
        const std::int64_t count = sizes.back();
        workbench::softmax_of_codes(bytes(places[0]), count_of(sizes) / count, count, {kept.data(), scale, out}, bytes(places[1]));
    });
    return made;
}

int Program::normalised_codes(int x, std::int64_t rows, const std::optional<Plain<float>>& weight, const std::optional<Plain<float>>& bias,
                              const NormOfCodes& told) {
    expect_codes(type(x) == Storage::quint8);
    x = plain(x);
    const Dims sizes = shape(x);
    if (rows < 1 || !count_of(sizes) || count_of(sizes) % rows || count_of(sizes) / rows % told.run) refuse("there are no such rows in " + text(sizes));
    const std::int64_t count = count_of(sizes) / rows;
    if (count > longest_row_of_codes || told.factors < 1 || told.factors % (count / told.run))
        refuse("rows of " + std::to_string(count) + " codes are not normalised by " + std::to_string(told.factors) + " factors");
    const auto kept = [&](const std::optional<Plain<float>>& factors) {
        if (factors && shape_of(*factors) != Dims{told.factors}) refuse("factors of norms have shape " + text(shape_of(*factors)));
        return factors ? std::vector<float>(factors->data(), factors->data() + told.factors) : std::vector<float>();
    };
    const int made = add_plain(sizes, Storage::quint8);
    add_loop("norm of codes own", {x, made}, workers_for(16 * count_of(sizes)),
             [=, weights = kept(weight), biases = kept(bias)](void* const* places) {
                 NormOfCodes of = told;
                 of.weight = weights.empty() ? nullptr : weights.data(), of.bias = biases.empty() ? nullptr : biases.data();
                 normalise_codes(bytes(places[0]), rows, count, of, bytes(places[1]));
             });
    return made;
}

}  // namespace workbench::compiled
