// Quantized convolution: weights packed once, sums exact, results rounded half to even.
//
//     out = clamp(rne(((sum (x - zero) w) · (sx · sw) + bias) · (1 / so) + zero_out))
//
// Convolution and affine map are one kernel over "planes" (see quantized.hpp): a convolution reads a padded image in place,
// without im2col, because for each kernel row the bytes under a window lie together in channels-last memory.
#include "quantized.hpp"

#include <algorithm>
#include <cstring>

#include "quantized_convolution.hpp"
#include "quantized_linear.hpp"
#define WORKBENCH_LEAVES "leaves/quantized.inl"
#define WORKBENCH_LEAVES_VNNI
#include "dispatch.hpp"
#include "threads.hpp"
#include "tiles.hpp"

namespace workbench {

PackedQuantizedConv2d::PackedQuantizedConv2d(const Input<std::int8_t>& weight, const Input<float>& weight_scales,
                                             const std::optional<Input<float>>& bias, Pair stride, Pair padding, Pair dilation,
                                             std::int64_t groups)
    : shape_(checked(shape_of(weight), groups)), stride_(stride), padding_(padding), dilation_(dilation),
      groups_(groups), channels_(shape_[0], weight_scales, bias) {
    const std::int64_t inputs = shape_[1], outputs = shape_[0] / groups, taps = shape_[2] * shape_[3];
    // [O, KH, KW, C], so that a run of input bytes meets a run of weights.
    Buffer<std::int8_t> last(count_of(shape_));
    copy_strided(last.data(), channels_last_strides(shape_), weight.data(), shape_, strides_of(weight));
    joined_ = groups == 1 && dilation.second == 1;
    const std::int64_t runs = joined_ ? shape_[2] : taps, run = joined_ ? shape_[3] * inputs : inputs;
    if (groups > 1 && outputs == 1 && inputs == 1) {
        weights_.emplace_back(last.data(), groups, taps, 1, Packing::apart);
        return;
    }
    for (std::int64_t g = 0; g < groups; ++g)
        weights_.emplace_back(last.data() + g * outputs * taps * inputs, outputs, runs, run, packing_for_this_cpu());
}

Dims PackedQuantizedConv2d::checked(Dims shape, std::int64_t groups) {
    if (shape.size() != 4 || count_of(shape) == 0)
        refuse("quantized conv2d weight has shape " + text(shape) + "; expected [O, C/groups, KH, KW]");
    if (count_of(shape) / shape[0] > (1 << 16))
        refuse("quantized conv2d weight " + text(shape) + " sums more than 2^16 products; 32 bits may not hold them");
    if (groups < 1 || shape[0] % groups)
        refuse("quantized conv2d groups is " + std::to_string(groups) + "; it must divide " +
               std::to_string(shape[0]) + " output channels");
    return shape;
}

std::int64_t PackedQuantizedConv2d::extent(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                                           std::int64_t dilation) {
    constexpr std::int64_t most = 1 << 20;
    const std::int64_t span = size + 2 * padding - dilation * (kernel - 1) - 1;
    if (stride < 1 || dilation < 1 || padding < 0 || std::max({stride, dilation, padding}) > most || span < 0)
        refuse("quantized conv2d: a kernel of " + std::to_string(kernel) + " with stride " + std::to_string(stride) +
               ", padding " + std::to_string(padding) + ", dilation " + std::to_string(dilation) +
               " does not fit an input of " + std::to_string(size));
    return span / stride + 1;
}

nb::object PackedQuantizedConv2d::run(const Input<std::uint8_t>& x, double x_scale, std::int64_t x_zero, double out_scale,
                                      std::int64_t out_zero, bool relu, bool pool, std::int64_t highest,
                                      const std::string& requantization) const {
    const Prepared prepared = prepare(shape_of(x), Quantization(x_scale, x_zero, out_scale, out_zero, relu, highest, requantization), pool);
    const Dims result = prepared.result();
    auto out = Output<std::uint8_t>::channels_last(result);
    if (count_of(result)) {
        KernelScope scope;
        const auto dense = channels_last(x);
        convolve(dense.data(), prepared, out.data());
    }
    return out.to_python();
}

PackedQuantizedConv2d::Prepared PackedQuantizedConv2d::prepare(const Dims& input, const Quantization& q, bool pool) const {
    if (input.size() != 4 || input[1] != shape_[1] * groups_)
        refuse("quantized conv2d input has shape " + text(input) + "; expected [N, " + std::to_string(shape_[1] * groups_) + ", H, W]");
    const Dims output{input[0], shape_[0], extent(input[2], shape_[2], stride_.first, padding_.first, dilation_.first),
                      extent(input[3], shape_[3], stride_.second, padding_.second, dilation_.second)};
    Prepared made{input, output, input, output, q.input_zero, pool};
    count_of(input);
    if (shape_[2] * shape_[3] == 1 && stride_ == Pair{1, 1} && padding_ == Pair{0, 0} && !pool)
        for (Dims* walked : {&made.images, &made.places}) *walked = {1, (*walked)[1], (*walked)[0] * (*walked)[2], (*walked)[3]};
    const std::vector<std::int32_t> offsets = step_offsets(input[1], (input[3] + 2 * padding_.second) * input[1]);
    for (std::int64_t g = 0; g < static_cast<std::int64_t>(weights_.size()); ++g) {
        const PackedWeights& weights = weights_[static_cast<std::size_t>(g)];
        for (std::int64_t p = 0; p < weights.panels(); ++p) {
            made.offsets.push_back(weights.reorder(p, offsets));
            made.panels.push_back(channels_.panel(weights, p, g * (shape_[0] / groups_), q, false));
            made.weights.push_back(weights.lying(p));
            made.panels.back().input = made.panels.back().apart ? made.panels.back().first : g * shape_[1];
        }
    }
    // Vectors keep their memory when those around them grow.
    for (std::size_t p = 0; p < made.panels.size(); ++p) made.panels[p].offsets = made.offsets[p].data();
    choose_tiles(made);
    return made;
}

std::int64_t PackedQuantizedConv2d::across(const Dims& images) const {
    const std::int64_t row = (images[3] + 2 * padding_.second) * stride_.first, step = stride_.second;
    return row % step ? 0 : row / step;
}

// Tiles pay wherever a channel's sum has enough products to fill a good part of one. They read rows in place where each step of
// 64 bytes lies together, and where few of the corners between rows are nobody's output.
void PackedQuantizedConv2d::choose_tiles(Prepared& made) const {
    constexpr std::int64_t least_bytes = 12, bytes = 1 << 19;
    const std::int64_t steps = weights_[0].steps(), run = weights_[0].run_steps(), width = made.places[3];
    made.tiles = has_tiles() && !made.pool && !made.panels[0].apart && steps * 4 >= least_bytes;
    if (!made.tiles) return;
    const std::int64_t step = (steps + 15) / 16 * tile_bytes;
    made.gathered_step = step % 1024 ? step : step + tile_bytes;  // rows a kilobyte apart share few places of a cache
    for (std::int64_t i = 0; i < steps; ++i) made.gathered_offsets.push_back(static_cast<std::int32_t>(4 * i));
    const std::int64_t in_place = across(made.images);
    const bool whole = run % 16 == 0 && (joined_ ? shape_[3] * shape_[1] : shape_[1]) == 4 * run;
    made.gathered = whole && in_place && 4 * width >= 3 * in_place ? 0 : std::max(2 * tile_rows, bytes / step / 32 * 32);
}

void PackedQuantizedConv2d::Prepared::clamp(std::int64_t low, std::int64_t high) {
    if (low < 0 || high > 255 || low > high)
        refuse("codes from " + std::to_string(low) + " to " + std::to_string(high) + " do not fit; give a range within 0 to 255");
    for (QuantizedPanel& panel : panels) {
        panel.low = std::max(panel.low, static_cast<float>(low)), panel.high = std::min(panel.high, static_cast<float>(high));
    }
}

// The part of an image that some rows of results need, padded. Small enough to stay in a fast cache while all panels
// of weights pass over it.
class PackedQuantizedConv2d::Band {
   public:
    Band(const PackedQuantizedConv2d& conv, const Dims& input, const Dims& output, std::int64_t tall, int zero)
        : conv_(conv), input_(input), width_(output[3]), tall_(tall), zero_(zero),
          side_(conv.padding_.second * input[1]), inner_(input[3] * input[1]), row_(inner_ + 2 * side_),
          reach_(conv.dilation_.first * (conv.shape_[2] - 1) + 1), rows_of_image_(output[2] / tall) {
        constexpr std::int64_t bytes = 1 << 17;
        const std::int64_t room = bytes / std::max<std::int64_t>(1, row_) - reach_;
        most_ = std::clamp<std::int64_t>(room / (tall * conv.stride_.first), 1, rows_of_image_);
        const std::int64_t high = (most_ * tall - 1) * conv.stride_.first + reach_;
        if (!conv.reads_in_place()) {
            padded_ = Buffer<std::uint8_t>(high * row_ + quantized_slack);
            // The sides stay, and what lies behind the last row; those of two rows lie together.
            std::memset(padded_.data(), zero, static_cast<std::size_t>(side_));
            for (std::int64_t y = 1; y < high; ++y) std::memset(padded_.data() + y * row_ - side_, zero, static_cast<std::size_t>(2 * side_));
            std::memset(padded_.data() + high * row_ - side_, zero, static_cast<std::size_t>(side_ + quantized_slack));
        }
        wide_.resize(static_cast<std::size_t>(high));
        wide_rows_.resize(static_cast<std::size_t>(most_ * tall));
    }

    std::int64_t rows() const { return rows_; }
    QuantizedPlane plane() const {
        const std::int64_t first = begin_ * tall_, step = row_ * conv_.stride_.first;
        return {data_ + first * step, step, input_[1] * conv_.stride_.second, rows_ * tall_, width_, wide_rows_.data() + first,
                conv_.shape_[0], {}};
    }

    // Takes what rows first..first + count of the results need, or the first of them that find room. Where others of the image
    // will be asked for they are held, too.
    void read(const std::uint8_t* image, std::int64_t first, std::int64_t count, bool others) {
        if (image != image_ || first < first_ || first >= first_ + held_)
            hold(image, first, std::min(most_, others ? rows_of_image_ - first : count));
        begin_ = first - first_;
        rows_ = std::min(count, held_ - begin_);
    }

   private:
    void hold(const std::uint8_t* image, std::int64_t first, std::int64_t count) {
        image_ = image, first_ = first, held_ = count;
        const std::int64_t outputs = count * tall_, stride = conv_.stride_.first;
        const std::int64_t high = (outputs - 1) * stride + reach_;
        const std::int64_t start = first * tall_ * stride - conv_.padding_.first;
        data_ = padded_ ? padded_.data() : image + start * inner_;
        for (std::int64_t y = 0; y < high && padded_; ++y) {
            std::uint8_t* to = padded_.data() + y * row_ + side_;
            if (start + y >= 0 && start + y < input_[2])
                std::memcpy(to, image + (start + y) * inner_, static_cast<std::size_t>(inner_));
            else
                std::memset(to, zero_, static_cast<std::size_t>(inner_));
        }
        if (has_vnni()) return;
        // A last step may read a few bytes of the next row; its weights are zero there.
        for (std::int64_t y = 0; y < high; ++y)
            wide_[static_cast<std::size_t>(y)] = LEAF(any_wide)(data_ + y * row_, row_);
        for (std::int64_t y = 0; y < outputs; ++y) {
            std::uint8_t any = 0;
            for (std::int64_t k = 0; k < conv_.shape_[2]; ++k)
                any |= wide_[static_cast<std::size_t>(y * stride + k * conv_.dilation_.first)];
            wide_rows_[static_cast<std::size_t>(y)] = any;
        }
    }

    const PackedQuantizedConv2d& conv_;
    const Dims& input_;
    const std::int64_t width_, tall_;
    const int zero_;
    const std::int64_t side_, inner_, row_, reach_;  // bytes beside an image row, in it, of both; rows under a kernel
    const std::int64_t rows_of_image_;
    std::int64_t most_, first_ = 0, held_ = 0;  // rows of results: those that find room, those that are held
    std::int64_t begin_ = 0, rows_ = 0;         // and of these the ones that are asked for
    Buffer<std::uint8_t> padded_;
    const std::uint8_t *image_ = nullptr, *data_ = nullptr;
    std::vector<std::uint8_t> wide_, wide_rows_;
};

// How many outputs all panels pass over before the next ones: so many that what they read and write stays in the fastest cache,
// where the weights are few enough to be read again for them.
std::int64_t PackedQuantizedConv2d::outputs_together(const QuantizedPlane& plane) const {
    constexpr std::int64_t few_weights = 1 << 16, codes = 1 << 14, tiles = 24;  // whole ones, of six or of eight
    const std::int64_t outputs = plane.height * plane.width;
    if (bytes() > few_weights) return outputs;
    return std::clamp<std::int64_t>(codes / (shape_[2] * plane.pixel_step + plane.channels) / tiles * tiles, 2 * tiles, std::max(2 * tiles, outputs));
}

// What is shared out are rows of results; where these are few, ranges of panels too. Or panels, where weights are more than what
// they meet: threads that share out rows read all of them each. Few panels are given in pieces, so that threads end together.
PackedQuantizedConv2d::Shares::Shares(const PackedQuantizedConv2d& layer, const Prepared& prepared)
    : all(prepared.places[0] * (prepared.places[2] / prepared.tall())), count(static_cast<std::int64_t>(prepared.panels.size())) {
    const std::int64_t threads = thread_count();
    by_panels = threads > 1 && count >= threads && layer.bytes() > count_of(prepared.images);
    pieces = std::clamp<std::int64_t>(8 * threads / count, 1, all);
    parts = std::clamp<std::int64_t>(4 * (threads - 1) / all, 1, count);
    total = by_panels ? count * pieces : all * parts;
    const std::int64_t products = all * prepared.tall() * prepared.places[3] * layer.weights_[0].steps() * 4 * layer.shape_[0] / total;
    grain = 1 + products_of_a_thread() / products;
}

std::pair<std::int64_t, std::int64_t> PackedQuantizedConv2d::Shares::own_panels() const {
    const auto [begin, end] = Claims::own(total, part_count(total, grain));
    if (by_panels) return {begin / pieces, (end + pieces - 1) / pieces};
    return {begin / all * count / parts, ((end - 1) / all + 1) * count / parts};
}

WeightsAhead PackedQuantizedConv2d::Prepared::first_weights() const {
    return weights[static_cast<std::size_t>(Shares(*layer, *this).own_panels().first)];
}

void PackedQuantizedConv2d::convolve(const std::uint8_t* x, const Prepared& prepared, std::uint8_t* out, const CodesSum* sum,
                                     const std::uint8_t* added) const {
    const Dims &input = prepared.images, &output = prepared.places;
    const Shares shares(*this, prepared);
    parallel_claims(shares.total, shares.grain, [&](const auto& claim) {
        std::int64_t begin = 0, end = 0;
        if (!claim(begin, end)) return;
        Band band(*this, input, output, prepared.tall(), prepared.input_zero);
        const Tiles tiles(prepared.tiles);
        Buffer<std::uint8_t> room;
        if (prepared.tiles) room = Buffer<std::uint8_t>(std::max(2 * tile_rows, prepared.gathered) * prepared.gathered_step + tile_bytes);
        Work work{prepared, out, sum, added, room.data(), shares.own_panels().second, {}};
        if (prepared.next) work.after = prepared.next->first_weights();
        const auto pass = [&](std::int64_t at, std::int64_t last, std::int64_t from, std::int64_t to) {
            for (; at < last; at += band.rows()) {
                const std::int64_t rows = output[2] / prepared.tall(), n = at / rows, first = at % rows;
                band.read(x + n * input[1] * input[2] * input[3], first, std::min(rows - first, last - at), shares.by_panels);
                write(work, band.plane(), from, to, at);
            }
        };
        const std::int64_t all = shares.all, pieces = shares.pieces, count = shares.count, parts = shares.parts;
        do {
            for (std::int64_t next; begin < end; begin = next)
                if (shares.by_panels) {
                    const std::int64_t panel = begin / pieces, piece = begin % pieces, whole = piece ? 0 : (end - begin) / pieces;
                    next = whole ? begin + whole * pieces : std::min(end, (panel + 1) * pieces);
                    const std::int64_t last = whole ? pieces : next - panel * pieces;
                    pass(piece * all / pieces, last * all / pieces, panel, panel + std::max<std::int64_t>(1, whole));
                } else {
                    const std::int64_t part = begin / all;
                    next = std::min(end, (part + 1) * all);
                    pass(begin - part * all, next - part * all, part * count / parts, (part + 1) * count / parts);
                }
        } while (claim(begin, end));
    });
}

// Rows of results from row `at` of all on, as many as the plane has, for the channels of the panels from..to.
void PackedQuantizedConv2d::write(const Work& work, const QuantizedPlane& plane, std::int64_t from, std::int64_t to, std::int64_t at) const {
    const auto& panels = work.prepared.panels;
    const bool pool = work.prepared.pool;
    const std::int64_t outputs = plane.height * plane.width, channels = shape_[0];
    const std::int64_t beside = at * (pool ? plane.width / 2 : plane.width) * channels;
    std::uint8_t* const here = work.out + beside;
    const std::int64_t low = panels[static_cast<std::size_t>(from)].first;
    const std::int64_t high = to < static_cast<std::int64_t>(panels.size()) ? panels[static_cast<std::size_t>(to)].first : channels;
    // While the codes are in a fast cache: all of some results, or a range of the channels of each.
    const auto add = [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t run = high - low == channels ? (end - begin) * channels : high - low;
        for (std::int64_t i = begin * channels + low; work.sum && i < end * channels; i += std::max(run, channels))
            sum_codes(here + i, work.added + beside + i, *work.sum, run, here + i);
    };
    if (work.prepared.tiles) {
        by_tiles(plane, work.prepared, from, to, work.room, here);
        return add(0, outputs);
    }
    const std::int64_t most = pool ? outputs : outputs_together(plane);
    for (std::int64_t begin = 0; begin < outputs; begin += most) {
        const std::int64_t end = std::min(begin + most, outputs);
        for (std::int64_t p = from; p < to; ++p) {
            const QuantizedPanel& panel = panels[static_cast<std::size_t>(p)];
            QuantizedPlane read = plane;
            read.image += panel.input;
            read.ahead = p + 1 < work.until ? work.prepared.weights[static_cast<std::size_t>(p + 1)] : work.after;
            if (pool)
                LEAF_VNNI(quantized_pooled)(read, panel, here + panel.first);
            else
                LEAF_VNNI(quantized_outputs)(read, panel, begin, end, {here + panel.first, nullptr, nullptr, nullptr});
        }
        add(pool ? begin / 4 : begin, pool ? end / 4 : end);
    }
}

void PackedQuantizedConv2d::by_tiles(const QuantizedPlane& plane, const Prepared& prepared, std::int64_t from, std::int64_t to,
                                     std::uint8_t* room, std::uint8_t* out) const {
    const std::int64_t wide = across(prepared.images);
    const std::int64_t outputs = plane.height * plane.width, count = (plane.height - 1) * wide + plane.width;
    // What is read in place begins and ends with an output, so it has to fill two tiles.
    const bool in_place = !prepared.gathered && count >= 2 * tile_rows;
    const std::int64_t most = in_place ? outputs : std::max(prepared.gathered, 2 * tile_rows);
    for (std::int64_t first = 0; first < outputs; first += most) {
        const std::int64_t here = std::min(most, outputs - first);
        std::int64_t held = -1;  // the first of the channels that are gathered
        for (std::int64_t p = from; p < to; ++p) {
            const QuantizedPanel& panel = prepared.panels[static_cast<std::size_t>(p)];
            QuantizedRows rows{plane.image + panel.input, plane.pixel_step, panel.offsets, 0, count, wide, plane.width};
            if (!in_place) {
                if (held != panel.input)
                    LEAF_VNNI(gather_tiles)(plane, panel, weights_[0].run_steps(), first, here, room, prepared.gathered_step);
                held = panel.input;
                rows = {room, prepared.gathered_step, prepared.gathered_offsets.data(), 0, here, here, here};
            }
            LEAF_VNNI(quantized_tiles)(panel, rows, plane.channels, {out + first * plane.channels + panel.first, nullptr, nullptr, nullptr});
        }
    }
}

std::int64_t PackedQuantizedConv2d::bytes() const {
    std::int64_t sum = 0;
    for (const PackedWeights& group : weights_) sum += group.bytes();
    return sum;
}

// Where each step of four bytes lies, seen from the first byte under the window.
std::vector<std::int32_t> PackedQuantizedConv2d::step_offsets(std::int64_t channels, std::int64_t row) const {
    std::vector<std::int32_t> offsets;
    const std::int64_t columns = joined_ ? 1 : shape_[3];
    for (std::int64_t y = 0; y < shape_[2]; ++y)
        for (std::int64_t x = 0; x < columns; ++x)
            for (std::int64_t step = 0; step < weights_[0].run_steps(); ++step) {
                const std::int64_t at = y * dilation_.first * row + x * dilation_.second * channels + step * 4;
                if (at > INT32_MAX) refuse("quantized conv2d: one input row is too large");
                offsets.push_back(static_cast<std::int32_t>(at));
            }
    return offsets;
}

void bind_quantized(nb::module_& module) {
    using nb::arg;
    nb::class_<PackedQuantizedConv2d>(module, "PackedQuantizedConv2d")
        .def(nb::init<const Input<std::int8_t>&, const Input<float>&, const std::optional<Input<float>>&, Pair, Pair, Pair,
                      std::int64_t>(),
             arg("weight").noconvert(), arg("weight_scales").noconvert(), arg("bias").noconvert().none(), nb::kw_only(),
             arg("stride"), arg("padding"), arg("dilation"), arg("groups"))
        .def("run", &PackedQuantizedConv2d::run, arg("x").noconvert(), nb::kw_only(), arg("x_scale"),
             arg("x_zero_point"), arg("scale"), arg("zero_point"), arg("relu") = false, arg("pool") = false,
             arg("highest") = 255, arg("requantization") = "real");
    nb::class_<PackedQuantizedLinear>(module, "PackedQuantizedLinear")
        .def(nb::init<const Input<std::int8_t>&, const Input<float>&, const std::optional<Input<float>>&>(),
             arg("weight").noconvert(), arg("weight_scales").noconvert(), arg("bias").noconvert().none())
        .def("run", &PackedQuantizedLinear::run, arg("x").noconvert(), nb::kw_only(), arg("x_scale"),
             arg("x_zero_point"), arg("scale").none(), arg("zero_point"), arg("relu") = false, arg("highest") = 255,
             arg("requantization") = "real")
        .def("run_dynamic", &PackedQuantizedLinear::run_dynamic, arg("x").noconvert(), nb::kw_only(), arg("by_row"),
             arg("highest"), arg("relu") = false);
}

}  // namespace workbench
