// A compiled graph for given sizes: steps on slots, which lie in one planned arena, in what is kept, or in what a run is given.
//
// Steps are added in order. Each chooses how its result lies, and the next takes it as it lies where it can: that is how a
// layout goes from convolution to convolution without being turned. `finish` plans the memory; a run then binds what it is given,
// and does nothing but run the steps. What a run writes is its own frame's, so that several threads may run one program.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "../engine.hpp"
#include "chain.hpp"

namespace workbench::compiled {

using Layout = dnnl::memory::desc;
using Kind = dnnl::memory::data_type;

// Weights in the order of a primitive, packed once for all programs of a graph.
class Store {
   public:
    // The weight called `key`, lying as `to`; `from` says how it lies at `data`.
    std::shared_ptr<Buffer<std::uint8_t>> packed(std::int64_t key, const void* data, const Layout& from, const Layout& to);
    std::int64_t bytes() const;

   private:
    struct Packed {
        Layout layout;
        std::shared_ptr<Buffer<std::uint8_t>> memory;
    };
    std::multimap<std::int64_t, Packed> known_;
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
    bool infinite = false;                               // an input that may have infinities
};

struct Slot {
    Layout layout;
    int space;
    bool settled;  // a step chose how it lies: those behind it had better take it so
};

// What is done to a result while it is in registers.
struct After {
    dnnl::algorithm what;  // eltwise_…, or binary_add
    float alpha = 0, beta = 0;
    int slot = -1;         // of what is added
    bool over = false;     // the result may be written over it
};

struct Step {
    std::string name;
    std::vector<std::pair<int, int>> arguments;  // oneDNN's role (or none of its), slot
    dnnl::primitive primitive;
    std::function<void(void* const*)> loop;      // our own, in the place of a primitive: pointers to the slots, in order
    int threads = 1;
};

// What one running thread works with: an arena, and memory objects bound to it.
class Frame {
   public:
    Buffer<std::uint8_t> arena;
    std::vector<dnnl::memory> memories;                      // by slot
    std::vector<std::vector<dnnl_exec_arg_t>> arguments;     // by step
    std::vector<std::vector<void*>> pointers;                // by step, of our own loops
};

class Program {
   public:
    explicit Program(std::shared_ptr<Store> store) : store_(std::move(store)) {}

    Program(const Program&) = delete;

    int input(const Dims& shape, Storage type);
    int constant(std::int64_t key, nb::handle array, Storage type);
    int convolution(int x, std::int64_t key, const Plain<float>& weight, std::int64_t bias_key, const std::optional<Plain<float>>& bias,
                    const Dims& stride, const Dims& padding, const Dims& dilation, std::int64_t groups, const std::vector<After>& after);
    int linear(int x, std::int64_t key, const Plain<float>& weight, std::int64_t bias_key, const std::optional<Plain<float>>& bias,
               const std::vector<After>& after);
    int matmul(int a, int b, bool transposed, float scale, const std::vector<After>& after);
    int pool(int x, const std::string& kind, const Dims& kernel, const Dims& stride, const Dims& padding, const Dims& dilation);
    int softmax(int x, int axis);
    int layer_norm(int x, std::int64_t scale_key, const Plain<float>& scale, std::int64_t shift_key, const Plain<float>& shift, float eps);
    int attention(int query, int key, int value, int mask, float scale, bool causal);
    // What a chain gives for these slots, stretched to `sizes`. A single result may be written over the input number `over`.
    std::vector<int> chain(std::shared_ptr<const Chain> chain, std::vector<int> inputs, const Dims& sizes, int over);
    int concatenate(const std::vector<int>& parts, int axis);
    int reshape(int x, const Dims& shape);
    // The same values, of which the dims lie in memory in this order, the slowest first.
    int lay_out(int x, const std::vector<int>& order);
    int permute(int x, const std::vector<int>& order);
    int part(int x, const Dims& start, const Dims& shape);

    void finish(const std::vector<int>& results);
    // The results; none where an input has values of which a step of this program would make something else than they are.
    std::optional<std::vector<nb::object>> run(const std::vector<nb::object>& inputs);

    Dims shape(int x) const { return at(x).layout.get_dims(); }
    Storage type(int x) const { return spaces_[static_cast<std::size_t>(at(x).space)].type; }
    std::vector<std::pair<std::string, std::int64_t>> steps() const;
    std::int64_t arena_bytes() const { return static_cast<std::int64_t>(arena_); }
    std::int64_t unshared_bytes() const { return static_cast<std::int64_t>(unshared_); }

   private:
    int add_slot(const Layout& layout, bool settled);
    int add_slot_of(Storage type, const Layout& layout, bool settled);  // where the layout does not say the type
    int add_slot_in(const Layout& layout, int space, bool settled);
    int keep(std::int64_t key, const void* data, const Layout& from, const Layout& to);
    template <typename Description>
    void add(const char* name, const Description& description, std::vector<std::pair<int, int>> arguments, std::int64_t products);
    void add_step(Step step);
    int laid(int x, const Layout& layout);  // the same values, lying so
    int plain(int x) { return laid(x, plain_layout(shape(x), at(x).layout.get_data_type())); }
    void move(const char* name, int from, int to);  // a step that brings values into another order
    Layout plain_layout(const Dims& shape, Kind kind = Kind::f32) const;
    const Slot& at(int x) const;
    bool may_write(int x) const { return spaces_[static_cast<std::size_t>(at(x).space)].where == Space::Where::arena; }
    int result_for(const Layout& layout, const std::vector<After>& after);
    dnnl::primitive_attr attributes(const std::vector<After>& after, const Layout& result, std::vector<std::pair<int, int>>& arguments);
    void plan();
    std::unique_ptr<Frame> frame() const;
    std::unique_ptr<Frame> take_frame();
    void give_frame(std::unique_ptr<Frame> frame);

    std::shared_ptr<Store> store_;
    std::vector<Space> spaces_;
    std::vector<Slot> slots_;
    std::vector<Step> steps_;
    std::vector<int> inputs_, results_;
    std::map<std::pair<int, std::string>, int> turned_;
    bool hides_nan_ = false, finished_ = false;
    std::size_t arena_ = 0, unshared_ = 0;
    std::vector<std::unique_ptr<Frame>> frames_;  // that no thread runs in
};

void bind_program(nb::module_& module);

}  // namespace workbench::compiled
