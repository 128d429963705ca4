// A compiled graph for given sizes: steps on slots, which lie in one planned arena, in what is kept, or in what a run is given.
//
// Steps are added in order. Each chooses how its result lies, and the next takes it as it lies where it can: that is how a
// layout goes from convolution to convolution without being turned. `finish` plans the memory; a run then binds what it is given,
// and does nothing but run the steps. What a run writes is its own frame's, so that several threads may run one program.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "../convolution.hpp"
#include "../engine.hpp"
#include "../quantized_convolution.hpp"
#include "chain.hpp"

namespace workbench {
template <std::size_t N>
struct Geometry;
class PackedQuantizedLinear;
struct RowsOut;
struct NormOfCodes;
}  // namespace workbench

namespace workbench::compiled {

// How a slot lies, for another program that is given its values so.
struct Lies {
    Layout layout;
    Storage type;
    bool single;
    std::int64_t count() const { return static_cast<std::int64_t>(layout.get_size() / size_of_value(type)); }
    // The values as an array of their sizes, in the order in which a program would have given them.
    nb::object unpacked(nb::handle array) const;
};

// Weights in the order of a primitive, packed once for all programs of a graph.
class Store {
   public:
    // The weight called `key`, lying as `to`; `from` says how it lies at `data`.
    std::shared_ptr<Buffer<std::uint8_t>> packed(std::int64_t key, const void* data, const Layout& from, const Layout& to);
    // The same for a layer of codes, which keeps its weights itself: they are counted once.
    void count(std::shared_ptr<const void> layer, std::int64_t bytes);
    std::int64_t bytes() const;
    // No more than which the outputs of a layer are for inputs of at most one: the largest sum of a row of magnitudes.
    double heaviest(std::int64_t key, const AnyArray& weight);

   private:
    struct Packed {
        Layout layout;
        std::shared_ptr<Buffer<std::uint8_t>> memory;
    };
    std::multimap<std::int64_t, Packed> known_;
    std::map<std::int64_t, double> heaviest_;
    std::map<std::shared_ptr<const void>, std::int64_t> layers_;
};

// Where values lie. Several slots may share one room: a view, or a result that is written over an operand.
struct Space {
    enum class Where { arena, kept, input, output };
    Where where = Where::arena;
    std::size_t bytes = 0;
    Storage type = Storage::float32;                     // of what is given, kept or given back
    int first = -1, last = -1;                           // steps that use it
    std::size_t offset = 0;                              // in the arena
    std::shared_ptr<Buffer<std::uint8_t>> memory;        // of what is kept
    int number = 0;                                      // of the input or output
    bool relied_on = false;                              // an input of which a step behind needs to know how large it is
    bool flat = false;                                   // given, or taken, as memory in the order of its layout
};

struct Slot {
    Layout layout;
    int space;
    bool settled;  // a step chose how it lies: those behind it had better take it so
    bool single = false;  // a number without dims, which lies as one value
    // No value is larger, and none is NaN: asked where a step relies on it, see bounds.cpp. Infinity, or nothing, where that is not known.
    std::function<double()> bound{};
};

// What is done to a result while it is in registers.
struct After {
    dnnl::algorithm what;  // eltwise_…, or binary_add
    float alpha = 0, beta = 0;
    int slot = -1;         // of what is added
    bool over = false;     // the result may be written over it
};

// Planes whose channels lie beside each other: images of so many channels, `blocks` of them for each sample.
struct Images {
    std::int64_t count, blocks, high, wide, channels;
    std::int64_t values() const { return high * wide * channels; }
};

struct Step {
    std::string name;
    std::vector<std::pair<int, int>> arguments;  // oneDNN's role (or none of its), slot
    dnnl::primitive primitive;
    std::function<void(void* const*)> loop;      // our own, in the place of a primitive: pointers to the slots, in order
    int threads = 1;
};

// How values become codes: of a scale and a zero point, within these.
struct Grading {
    double scale;
    std::int64_t zero, low, high;
};

using Arguments = std::vector<std::pair<int, int>>;

// Thrown by a loop that was given numbers for which only the ops themselves say what comes of them.
struct OutOfRange {};

// What inputs are taken to be at most, where that matters, and values in between that are looked at: what networks compute with is far
// smaller, and far larger is what float32 holds. Numbers beyond are computed by the ops themselves.
constexpr double usual_values = 1 << 30;

// Memory that values lie in while a program runs.
struct Arena {
    Buffer<std::uint8_t> memory;
    std::size_t bytes = 0;
};

// The arenas of programs that run after one another: what one has just worked in is in the caches for the next.
class Arenas {
   public:
    void fit(std::size_t bytes);
    Arena take();
    void give(Arena arena);

   private:
    std::size_t bytes_ = 0;
    std::vector<Arena> free_;  // that no thread runs in
};

// What one running thread works with: memory objects, bound to an arena.
class Frame {
   public:
    Arena arena;                                             // while it runs
    const std::uint8_t* place = nullptr;                     // of the arena to which all is bound
    std::vector<dnnl::memory> memories;                      // by slot
    std::vector<std::vector<dnnl_exec_arg_t>> arguments;     // by step
    std::vector<std::vector<void*>> pointers;                // by step, of our own loops
};

class Program {
   public:
    explicit Program(std::shared_ptr<Store> store) : store_(std::move(store)) {}

    Program(const Program&) = delete;

    // A run is given it row by row, or channels-last: what lies otherwise is brought into that order.
    int input(const Dims& shape, Storage type, bool channels_last);
    // An input that another program gave as it lay there.
    int input_lying(const Lies& lies);
    // The same without the gaps that a part of something else has: what is held for another program has none.
    int gathered(int x) { return at(x).layout.get_inner_nblks() || fills_memory(x) ? x : plain(x); }
    Lies lies(int x) const { return {at(x).layout, type(x), at(x).single}; }
    int constant(std::int64_t key, nb::handle array, Storage type);
    // What computes in oneDNN does so in the type of its operands, float32 or bfloat16, and adds up in float32.
    int convolution(int x, std::int64_t key, const AnyArray& weight, std::int64_t bias_key, const std::optional<AnyArray>& bias,
                    const Dims& stride, const Dims& padding, const Dims& dilation, std::int64_t groups, const std::vector<After>& after);
    // The same with a weight that a run is given, or computes: it is packed in each run.
    int convolution_with(int x, int weight, int bias, const Dims& stride, const Dims& padding, const Dims& dilation, std::int64_t groups,
                         const std::vector<After>& after);
    int convolution_input_gradient(int gradient, int weight, const Dims& input, const Dims& stride, const Dims& padding,
                                   const Dims& dilation, std::int64_t groups);
    // The gradients of a weight and, where it is asked for, of the bias.
    std::vector<int> convolution_weight_gradient(int gradient, int x, const Dims& weight, const Dims& stride, const Dims& padding,
                                                 const Dims& dilation, std::int64_t groups, bool bias);
    int linear(int x, std::int64_t key, const AnyArray& weight, std::int64_t bias_key, const std::optional<AnyArray>& bias,
               const std::vector<After>& after);
    // As the eager kernels do it, where nothing is known beforehand: the way that is fastest for these sizes. `relu` is done to y.
    int linear_with(int x, int weight, int bias, bool relu);
    // a [..., K] times b [K, N], whichever way they lie.
    int product(int a, int b);
    int matmul(int a, int b, bool transposed, float scale, const std::vector<After>& after);
    int pool(int x, const std::string& kind, const Dims& kernel, const Dims& stride, const Dims& padding, const Dims& dilation);
    // The largest values of windows, and where in its plane each was.
    std::vector<int> max_pool(int x, const Dims& kernel, const Dims& stride, const Dims& padding, const Dims& dilation);
    int max_pool_gradient(int gradient, int places, const Dims& input);
    int average_pool_gradient(int gradient, const Dims& input, const Dims& kernel, const Dims& stride, const Dims& padding, bool padded);
    // By the statistics of the batch: the result, the means and reciprocal deviations of the channels.
    std::vector<int> batch_norm(int x, int weight, int bias, double eps, bool relu);
    std::vector<int> batch_norm_gradient(int gradient, int x, int mean, int rstd, int weight);
    std::vector<int> running_statistics(int mean, int variance, int batch_mean, int batch_rstd, std::int64_t count, double eps,
                                        double momentum);
    int reduce(int x, const std::string& kind, const Dims& dim, bool keep);
    int softmax(int x, int axis);
    int layer_norm(int x, std::int64_t scale_key, const Plain<float>& scale, std::int64_t shift_key, const Plain<float>& shift, float eps);
    int attention(int query, int key, int value, int mask, float scale, bool causal);
    // Attention that is trained: what weights are dropped follows from the slot of a seed, or is -1; so is a mask that is not there.
    std::vector<int> attention_kept(int query, int key, int value, int mask, int seed, double scale, bool causal, double dropout);
    std::vector<int> attention_gradient(int gradient, int query, int key, int value, int output, int normals, int mask, int seed,
                                        double scale, bool causal, double dropout);
    // Rows and their statistics; factors that are not there are -1.
    std::vector<int> layer_norm_kept(int x, int weight, int bias, std::int64_t dims, double eps);
    std::vector<int> layer_norm_gradient(int gradient, int x, int means, int rstds, int weight, std::int64_t dims);
    int log_softmax(int x, std::int64_t dim);
    int softmax_gradient(int gradient, int y, std::int64_t dim, bool logarithm);
    int embedding(int indices, int table);
    int embedding_gradient(int indices, int gradient, std::int64_t rows);
    int cross_entropy(int x, int target, const std::string& reduction, std::int64_t ignored, float smoothing);
    int cross_entropy_gradient(int gradient, int x, int target, const std::string& reduction, std::int64_t ignored, float smoothing);
    int nll_loss(int x, int target, int weight, const std::string& reduction, std::int64_t ignored);
    int nll_loss_gradient(int gradient, int target, int weight, const Dims& sizes, const std::string& reduction, std::int64_t ignored);
    // Values dropped by a seed, each at a place of its own along dims `drawn`, as the eager kernel draws them.
    int dropout(int x, int seed, double p, const std::pair<std::int64_t, std::int64_t>& drawn, double scale, double high, double low);
    // Values stretched to sizes that theirs broadcast to.
    int stretched(int x, const Dims& sizes);
    // Zeros, and x in the part of them that begins at `start`.
    int placed(int x, const Dims& start, const Dims& shape);
    // What a chain gives for these slots, stretched to `sizes`. A single result may be written over the input number `over`.
    std::vector<int> chain(std::shared_ptr<const Chain> chain, std::vector<int> inputs, const Dims& sizes, int over);
    // Codes, whose scales and zero points the steps are told: see quantized_steps.cpp.
    int quantize(int x, const Grading& grading, Storage type);
    int dequantize(int x, double scale, std::int64_t zero);
    // A function of one value: what it gives for each of the 256 codes.
    int look_up(int x, const Plain<std::uint8_t>& table);
    // What `sum` says is done to the result with the codes of slot `added`.
    int quantized_convolution(int x, std::shared_ptr<PackedQuantizedConv2d> layer, const Quantization& q, std::int64_t least, bool pool,
                              const std::optional<CodesSum>& sum, int added);
    int quantized_linear(int x, std::shared_ptr<PackedQuantizedLinear> layer, const Quantization& q, std::int64_t least, bool codes);
    int sum_of_codes(int a, int b, const CodesSum& sum);
    int quantized_max_pool(int x, Pair kernel, Pair stride, Pair padding, Pair dilation);
    // Of whole planes, in the codes of x.
    int mean_of_codes(int x, std::int64_t zero);
    // Sums, products, matrices, rows: see code_value_steps.cpp.
    int combined_codes(int a, int b, const CodesIn& of_a, const CodesIn& of_b, const CodesOut& to, bool product);
    int spread_codes(int x, const Dims& stride, const Dims& before, const Dims& sizes, std::uint8_t code);
    int planes_of_codes(int x, std::int64_t depth, std::int64_t stride, std::int64_t dilation, std::int64_t groups);
    int product_of_codes(int a, int b, std::int64_t a_zero, std::int64_t b_zero, const RowsOut& out);
    int softmax_of_codes(int x, const Plain<std::int32_t>& powers, double scale, const RowsOut& out);
    int normalised_codes(int x, std::int64_t rows, const std::optional<Plain<float>>& weight, const std::optional<Plain<float>>& bias,
                         const NormOfCodes& told);
    int cast(int x, Storage type);  // float32 as bfloat16, and back
    int concatenate(const std::vector<int>& parts, int axis);
    int reshape(int x, const Dims& shape);
    // The same values, of which the dims lie in memory in this order, the slowest first.
    int lay_out(int x, const std::vector<int>& order);
    int permute(int x, const std::vector<int>& order);
    int part(int x, const Dims& start, const Dims& shape);

    // Those marked `held` are given as they lie, for `input_lying` of another program.
    void finish(const std::vector<int>& results, const std::vector<bool>& held);
    // Works in the arenas of another program, if it has not run yet.
    void share_arena(Program& other);
    // The results; none where an input has values of which a step of this program would make something else than they are.
    // Inputs whose numbers are in `seen` are not looked at: a run found them usual, and they have not changed.
    std::optional<std::vector<nb::object>> run(const std::vector<nb::object>& inputs, const std::vector<std::size_t>& seen = {});

    // How large the values of a slot are at most, none of them NaN; infinity where that is not known.
    double bound(int x);
    Dims shape(int x) const { return at(x).single ? Dims{} : Dims(at(x).layout.get_dims()); }
    Storage type(int x) const { return spaces_[static_cast<std::size_t>(at(x).space)].type; }
    int widened(int x);
    std::vector<std::pair<std::string, std::int64_t>> steps() const;
    // The type of what each step gives.
    std::vector<std::string> types() const;
    std::int64_t arena_bytes() const { return static_cast<std::int64_t>(arena_); }
    std::int64_t unshared_bytes() const { return static_cast<std::int64_t>(unshared_); }

   private:
    int add_slot(const Layout& layout, bool settled);
    int add_slot_of(Storage type, const Layout& layout, bool settled);  // where the layout does not say the type
    int add_slot_in(const Layout& layout, int space, bool settled);
    int add_plain(const Dims& shape, Storage type = Storage::float32);
    int given(int slot);  // an input
    int narrowed(int x);
    int keep(std::int64_t key, const void* data, const Layout& from, const Layout& to);
    template <typename Description>
    void add(const char* name, const Description& description, std::vector<std::pair<int, int>> arguments, std::int64_t products);
    void add_step(Step step);
    int bounded(int x, std::function<double()> bound);  // says how large the values of a slot are
    int alike_values(int x, int of);                    // says that they are those of another
    void look(int x);                                   // a step that sees to it that they are as usual, where that is not known
    // For what leaves values out that the ops add and multiply, as a causal call what it does not look at.
    void expect_finite(std::initializer_list<int> slots);
    double after_all(double sum, const std::vector<After>& after);
    // Sees to it that nothing overflows in front of a function that makes a number of NaN. `sum` says how large the result is before.
    void expect_no_overflow(const std::vector<After>& after, const std::vector<int>& operands, const std::function<double()>& sum);
    // A step of our own: what it reads, then what it writes, as pointers in this order.
    void add_loop(const char* name, const std::vector<int>& slots, int threads, std::function<void(void* const*)> loop);
    // Refuses weights of another type than what they are multiplied with.
    void expect_type(int x, const AnyArray& weight, const std::optional<AnyArray>& bias) const;
    int add_codes(int like, const Dims& sizes, Storage type);  // of other sizes lie channels-last, or row by row
    int images_of_codes(int x);
    int laid(int x, const Layout& layout);  // the same values, lying so
    int plain(int x) { return laid(x, plain_layout(shape(x), at(x).layout.get_data_type())); }
    bool cast_alone(int from, int to);  // a step that only rounds, where both lie alike; false where they do not
    void move(const char* name, int from, int to);  // a step that brings values into another order
    Layout plain_layout(const Dims& shape, Kind kind = Kind::f32) const;
    Dims given_shape(int x) const;    // of the array that a run is given, or gives
    Dims given_strides(int x) const;
    int as_rows(int x);
    int multiplied(int a, int b, bool transposed, int bias, bool relu);
    struct Attended {
        int query, key, value, mask, seed;
        std::int64_t products = 0;
    };
    Attended attended(int query, int key, int value, int mask, int seed);
    bool fills_memory(int x) const;
    int in_images(int x);
    int in_rows(int x);
    Images rows_of(int x) const;
    void expect_channels(std::initializer_list<int> slots, std::int64_t channels) const;
    Images images_of(int x) const;
    Layout alike(int x, const Dims& sizes, Kind kind = Kind::f32) const;
    using Weights = std::function<void(Arguments&, const Layout&)>;
    // `sum` says how large what is added up is at most, the bias with it.
    int convolve(const Geometry<2>& g, int x, bool bias, const std::vector<After>& after, const Weights& weights,
                 const std::function<double()>& sum);
    int taps_of(int weight, const Geometry<2>& g);
    int narrow_input_gradient(const Geometry<2>& g, int gradient, int weight);
    const Slot& at(int x) const;
    bool may_write(int x) const { return spaces_[static_cast<std::size_t>(at(x).space)].where == Space::Where::arena; }
    int result_for(const Layout& layout, const std::vector<After>& after);
    dnnl::primitive_attr attributes(const std::vector<After>& after, const Layout& result, std::vector<std::pair<int, int>>& arguments);
    void plan();
    std::unique_ptr<Frame> frame() const;
    void bind(Frame& frame) const;
    std::unique_ptr<Frame> take_frame();
    bool walk(Frame& frame, const std::vector<void*>& given) const;
    void give_frame(std::unique_ptr<Frame> frame);

    std::shared_ptr<Store> store_;
    std::vector<Space> spaces_;
    std::vector<Slot> slots_;
    std::vector<Step> steps_;
    std::vector<int> inputs_, results_;
    std::map<std::pair<int, std::string>, int> turned_;
    bool finished_ = false;
    bool only_loops_ = false;  // of our own, none of oneDNN's primitives
    std::int64_t products_of_codes_ = 0;  // of a run, all together
    std::shared_ptr<PackedQuantizedConv2d::Prepared> codes_before_;  // of the last convolution of codes
    std::size_t arena_ = 0, unshared_ = 0;
    std::vector<std::unique_ptr<Frame>> frames_;  // that no thread runs in
    std::shared_ptr<Arenas> arenas_ = std::make_shared<Arenas>();
};

void bind_program(nb::module_& module);

}  // namespace workbench::compiled
