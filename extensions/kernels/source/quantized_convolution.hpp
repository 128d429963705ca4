// The convolution on codes, whose weights are packed once; what compiled graphs run, too.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "convolution.hpp"
#include "quantized_channels.hpp"

namespace workbench {

class PackedQuantizedConv2d {
   public:
    PackedQuantizedConv2d(const Input<std::int8_t>& weight, const Input<float>& weight_scales,
                          const std::optional<Input<float>>& bias, Pair stride, Pair padding, Pair dilation,
                          std::int64_t groups);

    PackedQuantizedConv2d(const PackedQuantizedConv2d&) = delete;

    nb::object run(const Input<std::uint8_t>& x, double x_scale, std::int64_t x_zero, double out_scale, std::int64_t out_zero, bool relu,
                   bool pool, std::int64_t highest, const std::string& requantization) const;

    // The same for one geometry and one kind of codes, found out once.
    struct Prepared {
        Dims input, output;  // of the convolution; what is pooled is half as high and wide
        Dims images, places;  // the same as they are walked over: images whose places depend on themselves alone are one image
        std::int32_t input_zero;
        bool pool;
        std::vector<std::vector<std::int32_t>> offsets{};  // per panel
        std::vector<QuantizedPanel> panels{};
        std::vector<WeightsAhead> weights{};  // of each panel
        // By tiles: `gathered` of its outputs at a time are brought together first, or none, where they are read as they lie.
        bool tiles = false;
        std::int64_t gathered = 0, gathered_step = 0;  // outputs, and bytes of each
        std::vector<std::int32_t> gathered_offsets{};
        // Of a step of a program: its layer, and what runs behind it, whose first weights are fetched with the last ones here.
        std::shared_ptr<const PackedQuantizedConv2d> layer{};
        std::shared_ptr<const Prepared> next{};
        WeightsAhead first_weights() const;  // for this thread
        std::int64_t tall() const { return pool ? 2 : 1; }  // rows of outputs in one of results
        Dims result() const { return pool ? Dims{output[0], output[1], output[2] / 2, output[3] / 2} : output; }
        // Codes outside of these are brought to them; the least is otherwise 0, or the code of zero of what is rectified.
        void clamp(std::int64_t low, std::int64_t high);
    };
    Prepared prepare(const Dims& input, const Quantization& q, bool pool) const;
    // On channels-last codes, into such. Called without Python's lock. `sum` says what is done with the codes of `added`.
    void convolve(const std::uint8_t* x, const Prepared& prepared, std::uint8_t* out, const CodesSum* sum = nullptr,
                  const std::uint8_t* added = nullptr) const;
    std::int64_t bytes() const;
    std::int64_t products_of(std::int64_t outputs) const { return outputs * weights_[0].steps() * 4; }

   private:
    class Band;
    // How a call is shared out among threads.
    struct Shares {
        std::int64_t all, count;  // rows of results, panels
        bool by_panels;
        std::int64_t pieces, parts;  // rows of a panel; panels of a row
        std::int64_t total, grain;
        Shares(const PackedQuantizedConv2d& layer, const Prepared& prepared);
        std::pair<std::int64_t, std::int64_t> own_panels() const;  // those that this thread begins with
    };
    // What a thread needs of a call.
    struct Work {
        const Prepared& prepared;
        std::uint8_t* out;
        const CodesSum* sum;
        const std::uint8_t* added;
        std::uint8_t* room;    // for tiles
        std::int64_t until;    // the panel behind the last one that this thread has to itself
        WeightsAhead after;    // what it reads after that
    };
    void choose_tiles(Prepared& made) const;
    // How many outputs of padded rows lie at equal steps, from one row to the next; 0 where they do not.
    std::int64_t across(const Dims& images) const;
    // The panels from..to for all outputs of a plane; `room` holds what is gathered.
    void by_tiles(const QuantizedPlane& plane, const Prepared& prepared, std::int64_t from, std::int64_t to, std::uint8_t* room,
                  std::uint8_t* out) const;
    void write(const Work& work, const QuantizedPlane& plane, std::int64_t from, std::int64_t to, std::int64_t at) const;
    std::int64_t outputs_together(const QuantizedPlane& plane) const;
    static Dims checked(Dims shape, std::int64_t groups);
    static std::int64_t extent(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t padding, std::int64_t dilation);
    // Whether images need neither padding nor bytes behind their last one.
    bool reads_in_place() const {
        const std::int64_t run = joined_ ? shape_[3] * shape_[1] : shape_[1];
        return padding_ == Pair{0, 0} && run % 4 == 0;  // channels that stay apart are read by sixteen: never
    }
    std::vector<std::int32_t> step_offsets(std::int64_t channels, std::int64_t row) const;

    const Dims shape_;
    const Pair stride_, padding_, dilation_;
    const std::int64_t groups_;
    const Channels channels_;
    bool joined_;  // kernel columns lie together in memory
    std::vector<PackedWeights> weights_;
};

}  // namespace workbench
