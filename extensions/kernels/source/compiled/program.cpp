#include "steps.hpp"

#include "../casts.hpp"

#include <algorithm>
#include <cstring>

namespace workbench::compiled {
namespace {

constexpr std::size_t line = 64;
constexpr std::size_t padded(std::size_t bytes) { return (bytes + line - 1) / line * line; }

// One for all programs, as no mutex that is held over a fork is ever destroyed: it is held for a few instructions.
ForkMutex& frames_mutex() {
    static auto* instance = new ForkMutex(ForkMutex::caches);
    return *instance;
}
ForkMutex& store_mutex() {
    static auto* instance = new ForkMutex(ForkMutex::packing);
    return *instance;
}

}  // namespace

std::shared_ptr<Buffer<std::uint8_t>> Store::packed(std::int64_t key, const void* data, const Layout& from, const Layout& to) {
    {
        std::lock_guard lock(store_mutex());
        for (auto [one, end] = known_.equal_range(key); one != end; ++one)
            if (one->second.layout == to) return one->second.memory;
    }
    auto memory = std::make_shared<Buffer<std::uint8_t>>(static_cast<std::int64_t>(to.get_size() + line));
    if (from == to)
        std::memcpy(memory->data(), data, to.get_size());
    else
        repacking(from, to).with_room({{DNNL_ARG_FROM, bound(from, data)}, {DNNL_ARG_TO, bound(to, memory->data())}});
    stream().wait();
    std::lock_guard lock(store_mutex());
    known_.emplace(key, Packed{to, memory});
    return memory;
}

double Store::heaviest(std::int64_t key, const AnyArray& weight) {
    {
        std::lock_guard lock(store_mutex());
        if (const auto known = heaviest_.find(key); known != heaviest_.end()) return known->second;
    }
    const std::int64_t rows = weight.shape().at(0);
    // Sums of floats are rounded, the more the longer they are.
    const double found = 1.01 * heaviest_row(weight.type(), weight.data(), rows, count_of(weight.shape()) / rows);
    std::lock_guard lock(store_mutex());
    return heaviest_[key] = found;
}

void Store::count(std::shared_ptr<const void> layer, std::int64_t bytes) {
    std::lock_guard lock(store_mutex());
    layers_[std::move(layer)] = bytes;
}

std::int64_t Store::bytes() const {
    std::lock_guard lock(store_mutex());
    std::int64_t sum = 0;
    for (const auto& [key, one] : known_) sum += static_cast<std::int64_t>(one.layout.get_size());
    for (const auto& [layer, bytes] : layers_) sum += bytes;
    return sum;
}

// ------------------------------------------------------------------------------------------------ slots and steps

// oneDNN knows no values without dims: such a one lies as one of one dim.
Layout Program::plain_layout(const Dims& shape, Kind kind) const {
    return shape.empty() ? describe({1}, {1}, kind) : describe(shape, row_major_strides(shape), kind);
}

int Program::add_plain(const Dims& shape, Storage type) {
    const int slot = add_slot_of(type, plain_layout(shape, kind_of_values(type)), true);
    slots_.back().single = shape.empty();
    return slot;
}

// What a layout's values are, where that is not said.
static Storage type_of(const Layout& layout) {
    switch (layout.get_data_type()) {
        case Kind::bf16: return Storage::bfloat16;
        case Kind::s32: return Storage::int32;
        case Kind::f64: return Storage::float64;
        case Kind::u8: return Storage::boolean;
        case Kind::s8: return Storage::qint8;
        default: return Storage::float32;
    }
}

const Slot& Program::at(int x) const {
    if (x < 0 || static_cast<std::size_t>(x) >= slots_.size()) refuse("a step reads slot " + std::to_string(x) + ", which is not there");
    return slots_[static_cast<std::size_t>(x)];
}

int Program::add_slot(const Layout& layout, bool settled) { return add_slot_of(type_of(layout), layout, settled); }

int Program::add_slot_of(Storage type, const Layout& layout, bool settled) {
    Space space;
    space.bytes = layout.get_size(), space.type = type;
    spaces_.push_back(std::move(space));
    return add_slot_in(layout, static_cast<int>(spaces_.size()) - 1, settled);
}

int Program::add_slot_in(const Layout& layout, int space, bool settled) {
    slots_.push_back({layout, space, settled});
    return static_cast<int>(slots_.size()) - 1;
}

int Program::input(const Dims& shape, Storage type, bool channels_last) {
    count_of(shape);
    const Kind kind = kind_of_values(type);
    const int slot = add_slot_of(type, channels_last ? describe(shape, channels_last_strides(shape), kind) : plain_layout(shape, kind), false);
    slots_.back().single = shape.empty();
    return given(slot);
}

int Program::given(int slot) {
    const auto number = static_cast<std::size_t>(at(slot).space);
    spaces_[number].where = Space::Where::input, spaces_[number].number = static_cast<int>(inputs_.size());
    inputs_.push_back(slot);
    return bounded(slot, [this, number] {
        switch (spaces_[number].type) {
            case Storage::boolean: return 1.0;
            case Storage::quint8: case Storage::qint8: return 255.0;
            case Storage::int32: return 0x1p31;
            case Storage::int64: return 0x1p63;
            default: break;
        }
        spaces_[number].relied_on = true;
        return usual_values;
    });
}

int Program::input_lying(const Lies& lies) {
    const int slot = add_slot_of(lies.type, lies.layout, true);
    slots_.back().single = lies.single;
    spaces_.back().flat = true;
    return given(slot);
}

int Program::keep(std::int64_t key, const void* data, const Layout& from, const Layout& to) {
    const int slot = add_slot(to, true);
    spaces_.back().where = Space::Where::kept, spaces_.back().memory = store_->packed(key, data, from, to);
    return slot;
}

int Program::constant(std::int64_t key, nb::handle array, Storage type) {
    const AnyArray given(array, type, "a constant");
    if (!lies_as(given.shape(), given.strides(), row_major_strides(given.shape()))) refuse("a constant lies row by row");
    const Layout layout = plain_layout(given.shape(), kind_of_values(type));
    const int slot = keep(key, given.data(), layout, layout);
    slots_.back().settled = false, slots_.back().single = given.shape().empty(), spaces_.back().type = type;
    // Memory of the store, which stays.
    return bounded(slot, [type, values = spaces_.back().memory, count = count_of(given.shape())] {
        return largest_value(type, values->data(), count);
    });
}

void Program::add_loop(const char* name, const std::vector<int>& slots, int threads, std::function<void(void* const*)> loop) {
    Step step;
    step.name = name;
    for (const int slot : slots) step.arguments.emplace_back(0, slot);
    step.threads = threads;
    step.loop = std::move(loop);
    add_step(std::move(step));
}

void Program::add_step(Step step) {
    const int now = static_cast<int>(steps_.size());
    for (const auto& [role, slot] : step.arguments) {
        Space& space = spaces_[static_cast<std::size_t>(at(slot).space)];
        if (space.first < 0) space.first = now;
        space.last = now;
    }
    steps_.push_back(std::move(step));
}

// The values of `x` in the layout that is asked for: itself, or what a step turns it into, once for all who ask.
int Program::laid(int x, const Layout& layout) {
    if (at(x).layout == layout) return x;
    const dnnl::memory::desc from = at(x).layout;
    const auto strides = layout.get_strides();
    const std::string order = text(Dims(strides.begin(), strides.end())) + text(Dims(layout.get_inner_blks())) + text(layout.get_padded_dims());
    const auto known = turned_.find({x, order});
    if (known != turned_.end() && slots_[static_cast<std::size_t>(known->second)].layout == layout) return known->second;
    const int slot = from.get_data_type() == layout.get_data_type() ? add_slot_of(type(x), layout, true) : add_slot(layout, true);
    slots_.back().single = at(x).single;
    move("turn", x, slot);
    turned_[{x, order}] = slot;
    return alike_values(slot, x);
}

// Values into another order, of the same type or another one that oneDNN knows.
void Program::move(const char* name, int x, int to) {
    const Layout from = at(x).layout, layout = at(to).layout;
    if (cast_alone(x, to)) return;
    if (layout.get_data_type() != Kind::f64) {
        use_threads(thread_count());
        const dnnl::reorder::primitive_desc description(engine(), from, engine(), layout, with_own_room());
        return add(name, description, {{DNNL_ARG_FROM, x}, {DNNL_ARG_TO, to}}, static_cast<std::int64_t>(layout.get_size()) * 8);
    }
    // What is eight bytes wide oneDNN does not move, nor does it put such values into blocks.
    if (type(x) != type(to)) refuse(std::string("no step makes ") + name_of(type(to)) + " of " + name_of(type(x)));
    Step step;
    step.name = std::string(name) + " own";
    step.arguments = {{0, x}, {0, to}};
    step.threads = thread_count();
    const std::int64_t offset = from.get_submemory_offset() * static_cast<std::int64_t>(size_of_value(type(x)));
    step.loop = [type = type(x), shape = Dims(from.get_dims()), strides = from.get_strides(), target = layout.get_strides(),
                 offset](void* const* places) {
        copy_values(type, places[1], target, static_cast<const char*>(places[0]) + offset, shape, strides);
    };
    add_step(std::move(step));
}

// Between float32 and bfloat16 in one order of memory. Where it has no code of its own for them oneDNN adds a zero, which takes
// the sign from -0, and elsewhere it rounds by an instruction that loses what is below 1.2e-38.
bool Program::cast_alone(int x, int to) {
    const Layout from = at(x).layout, layout = at(to).layout;
    const Kind source = from.get_data_type(), target = layout.get_data_type();
    if (!(source == Kind::f32 && target == Kind::bf16) && !(source == Kind::bf16 && target == Kind::f32)) return false;
    const auto same = with_type_of(from, target);
    const std::size_t width = source == Kind::f32 ? 4 : 2;
    const Dims padded_sizes = from.get_padded_dims();
    const std::int64_t count = count_of(padded_sizes);
    // Dense, from its first value on.
    if (!same || *same != layout || from.get_submemory_offset() || from.get_size() != static_cast<std::size_t>(count) * width) return false;
    Step step;
    step.name = "turn own";
    step.arguments = {{0, x}, {0, to}};
    step.threads = thread_count();
    step.loop = [source, count](void* const* places) {
        if (source == Kind::f32) cast_values(static_cast<const float*>(places[0]), count, static_cast<bfloat16*>(places[1]));
        else cast_values(static_cast<const bfloat16*>(places[0]), count, static_cast<float*>(places[1]));
    };
    add_step(std::move(step));
    return true;
}

int Program::result_for(const Layout& layout, const std::vector<After>& after) {
    for (const After& one : after)
        if (one.over && at(one.slot).layout == layout) {
            // Written over: what was turned of it before is of the old numbers.
            return add_slot_in(layout, at(one.slot).space, true);
        }
    return add_slot(layout, true);
}

// Attributes for what is done to the result, which lies as `result`; adds the roles of what is added.
dnnl::primitive_attr Program::attributes(const std::vector<After>& after, const Layout& result,
                                         std::vector<std::pair<int, int>>& arguments) {
    dnnl::primitive_attr attributes = with_own_room();
    dnnl::post_ops operations;
    for (const After& one : after) {
        if (one.what != dnnl::algorithm::binary_add) {
            operations.append_eltwise(one.what, one.alpha, one.beta);
        } else if (one.over) {
            operations.append_sum(1.f);
        } else {
            operations.append_binary(dnnl::algorithm::binary_add, result);
            arguments.emplace_back(DNNL_ARG_ATTR_MULTIPLE_POST_OP(operations.len() - 1) | DNNL_ARG_SRC_1, laid(one.slot, result));
        }
    }
    attributes.set_post_ops(operations);
    return attributes;
}

nb::object Lies::unpacked(nb::handle array) const {
    const AnyArray given(array, type, "memory of a program");
    if (given.shape() != Dims{count()} || given.strides() != Dims{1})
        refuse("memory of " + std::to_string(count()) + " values is unpacked, not " + text(given.shape()));
    nb::object result;
    with_type(type, [&](auto value) {
        using T = decltype(value);
        const Dims sizes = single ? Dims{} : Dims(layout.get_dims());
        const Dims strides = sizes.size() == 4 ? channels_last_strides(sizes) : row_major_strides(sizes);
        Output<T> out(sizes, strides);
        if (!layout.get_inner_nblks()) {
            copy_values(type, out.data(), strides, given.data(), sizes, single ? Dims{} : Dims(layout.get_strides()));
        } else {
            KernelScope scope;
            const Layout to = describe(sizes, strides, layout.get_data_type());
            repacking(layout, to).with_room({{DNNL_ARG_FROM, bound(layout, given.data())}, {DNNL_ARG_TO, bound(to, out.data())}});
            stream().wait();
        }
        result = out.to_python();
    });
    return result;
}

// --------------------------------------------------------------------------------------------------------- memory

// Places in planes, which steps keep in four bytes, as the int64 that they are to all others.
int Program::widened(int x) {
    if (type(x) != Storage::int32) refuse(std::string("no step makes int64 of ") + name_of(type(x)));
    if (at(x).layout.get_inner_nblks()) x = laid(x, describe(shape(x), channels_last_strides(shape(x)), Kind::s32));
    const int slot = add_slot_of(Storage::int64, describe(at(x).layout.get_dims(), at(x).layout.get_strides(), Kind::f64), true);
    slots_.back().single = at(x).single;
    add_loop("widen", {x, slot}, thread_count(), [count = count_of(shape(x))](void* const* places) {
        const auto* from = static_cast<const std::int32_t*>(places[0]);
        auto* to = static_cast<std::int64_t*>(places[1]);
        parallel_for(count, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) to[i] = from[i];
        });
    });
    return slot;
}

void Program::finish(const std::vector<int>& results, const std::vector<bool>& as_they_lie) {
    const std::vector<bool> held = as_they_lie.empty() ? std::vector<bool>(results.size(), false) : as_they_lie;
    use_threads(thread_count());
    if (results.size() != held.size()) refuse("for each result it is said whether it is held");
    std::vector<bool> taken;
    for (std::size_t i = 0; i < results.size(); ++i) {
        const Dims sizes = shape(results[i]);
        // As the house's own layers lay what they give: channels-last where there are planes.
        const Kind kind = at(results[i]).layout.get_data_type();
        const Layout last = sizes.size() == 4 ? describe(sizes, channels_last_strides(sizes), kind) : plain_layout(sizes, kind);
        int slot = held[i] || at(results[i]).layout == plain_layout(sizes, kind) ? results[i] : laid(results[i], last);
        taken.resize(spaces_.size(), false);
        auto space = static_cast<std::size_t>(at(slot).space);
        if (!may_write(slot) || taken[space] || spaces_[space].bytes != at(slot).layout.get_size()) {
            const Layout layout = at(slot).layout;
            const int copy = add_slot_of(type(slot), layout, true);
            slots_.back().single = at(slot).single;
            move("copy", slot, copy);
            slot = copy, space = static_cast<std::size_t>(at(copy).space);
            taken.resize(spaces_.size(), false);
        }
        taken[space] = true;
        spaces_[space].flat = held[i];
        results_.push_back(slot);
    }
    for (std::size_t i = 0; i < results_.size(); ++i) {
        Space& space = spaces_[static_cast<std::size_t>(at(results_[i]).space)];
        space.where = Space::Where::output, space.number = static_cast<int>(i);
    }
    only_loops_ = std::all_of(steps_.begin(), steps_.end(), [](const Step& step) { return static_cast<bool>(step.loop); });
    plan();
    arenas_->fit(arena_);
    turned_.clear();
    finished_ = true;
}

// Offsets in the arena: the largest first, each at the lowest place that is free as long as it lives.
void Program::plan() {
    std::vector<Space*> order;
    for (Space& space : spaces_)
        if (space.where == Space::Where::arena && space.first >= 0) order.push_back(&space);
    std::stable_sort(order.begin(), order.end(), [](const Space* a, const Space* b) { return a->bytes > b->bytes; });
    std::vector<const Space*> placed;  // by offset
    for (Space* space : order) {
        const std::size_t bytes = padded(space->bytes);
        unshared_ += bytes;
        std::size_t at = 0;
        for (const Space* other : placed) {
            if (other->last < space->first || space->last < other->first) continue;
            if (at + bytes <= other->offset) break;
            at = std::max(at, other->offset + padded(other->bytes));
        }
        space->offset = at;
        arena_ = std::max(arena_, at + bytes);
        placed.insert(std::upper_bound(placed.begin(), placed.end(), space,
                                       [](const Space* a, const Space* b) { return a->offset < b->offset; }),
                      space);
    }
}

void Arenas::fit(std::size_t bytes) {
    std::lock_guard lock(frames_mutex());
    if (bytes <= bytes_) return;
    bytes_ = bytes;
    free_.clear();
}

Arena Arenas::take() {
    std::size_t bytes;
    {
        std::lock_guard lock(frames_mutex());
        if (!free_.empty()) {
            Arena taken = std::move(free_.back());
            free_.pop_back();
            return taken;
        }
        bytes = bytes_;
    }
    return {Buffer<std::uint8_t>(static_cast<std::int64_t>(bytes + line)), bytes};
}

void Arenas::give(Arena arena) {
    std::lock_guard lock(frames_mutex());
    // One that was taken before they were made to fit another program is too small by now.
    if (arena.bytes == bytes_) free_.push_back(std::move(arena));
}

void Program::share_arena(Program& other) {
    if (!finished_ || !other.finished_ || !frames_.empty()) refuse("a program shares an arena after it is finished, and before it has run");
    arenas_ = other.arenas_;
    arenas_->fit(arena_);
}

std::unique_ptr<Frame> Program::frame() const {
    auto made = std::make_unique<Frame>();
    for (const Slot& slot : slots_) {
        made->memories.push_back(unbound(slot.layout));
        const Space& space = spaces_[static_cast<std::size_t>(slot.space)];
        if (space.where == Space::Where::kept) made->memories.back().set_data_handle(space.memory->data());
    }
    for (const Step& step : steps_) {
        std::vector<dnnl_exec_arg_t> arguments;
        std::vector<void*> pointers;
        for (const auto& [role, slot] : step.arguments) {
            const Space& space = spaces_[static_cast<std::size_t>(at(slot).space)];
            if (step.loop)
                pointers.push_back(space.where == Space::Where::kept ? space.memory->data() : nullptr);
            else
                arguments.push_back({role, made->memories[static_cast<std::size_t>(slot)].get()});
        }
        made->arguments.push_back(std::move(arguments));
        made->pointers.push_back(std::move(pointers));
    }
    return made;
}

// Binds what lies in the arena, if that is another than it was.
void Program::bind(Frame& frame) const {
    std::uint8_t* arena = frame.arena.memory.data();
    if (frame.place == arena) return;
    const auto place = [&](int slot) -> void* {
        const Space& space = spaces_[static_cast<std::size_t>(at(slot).space)];
        return space.where == Space::Where::arena ? arena + space.offset : nullptr;
    };
    for (std::size_t i = 0; i < slots_.size(); ++i)
        if (void* here = place(static_cast<int>(i))) frame.memories[i].set_data_handle(here);
    for (std::size_t i = 0; i < steps_.size(); ++i)
        for (std::size_t j = 0; j < frame.pointers[i].size(); ++j)
            if (void* here = place(steps_[i].arguments[j].second)) frame.pointers[i][j] = here;
    frame.place = arena;
}

std::unique_ptr<Frame> Program::take_frame() {
    std::unique_ptr<Frame> taken;
    {
        std::lock_guard lock(frames_mutex());
        if (!frames_.empty()) {
            taken = std::move(frames_.back());
            frames_.pop_back();
        }
    }
    if (!taken) taken = frame();
    taken->arena = arenas_->take();
    bind(*taken);
    return taken;
}

void Program::give_frame(std::unique_ptr<Frame> frame) {
    arenas_->give(std::move(frame->arena));
    std::lock_guard lock(frames_mutex());
    frames_.push_back(std::move(frame));
}

// ---------------------------------------------------------------------------------------------------------- a run

Dims Program::given_shape(int x) const {
    return spaces_[static_cast<std::size_t>(at(x).space)].flat ? Dims{lies(x).count()} : shape(x);
}

Dims Program::given_strides(int x) const {
    if (spaces_[static_cast<std::size_t>(at(x).space)].flat) return {1};
    return at(x).single ? Dims{} : Dims(at(x).layout.get_strides());
}

// Step by step, with slots at the places that are given; false where a step met values beyond those it is for.
bool Program::walk(Frame& frame, const std::vector<void*>& given) const {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const Step& step = steps_[i];
        use_threads(step.threads);
        if (!step.loop) {
            dnnl::error::wrap_c_api(dnnl_primitive_execute(step.primitive.get(), stream().get(), static_cast<int>(frame.arguments[i].size()),
                                                           frame.arguments[i].data()),
                                    "could not run a step of a compiled program");
            continue;
        }
        auto& pointers = frame.pointers[i];
        for (std::size_t j = 0; j < pointers.size(); ++j)
            if (void* place = given[static_cast<std::size_t>(step.arguments[j].second)]) pointers[j] = place;
        try {
            step.loop(pointers.data());
        } catch (const OutOfRange&) {
            return false;
        }
    }
    return true;
}

std::optional<std::vector<nb::object>> Program::run(const std::vector<nb::object>& inputs, const std::vector<std::size_t>& seen) {
    if (!finished_) refuse("a program runs after it is finished");
    if (inputs.size() != inputs_.size())
        refuse("a program of " + std::to_string(inputs_.size()) + " inputs was given " + std::to_string(inputs.size()));
    std::vector<char> unseen(inputs.size(), 1);
    for (const std::size_t one : seen) unseen.at(one) = 0;
    std::vector<AnyArray> arrays;
    arrays.reserve(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const AnyArray& one = arrays.emplace_back(inputs[i], type(inputs_[i]), "input " + std::to_string(i) + " of a program");
        if (one.shape() != given_shape(inputs_[i]))
            refuse("a program for an input of " + text(given_shape(inputs_[i])) + " was given " + text(one.shape()));
    }
    std::vector<Buffer<char>> outputs;
    for (const int slot : results_)
        outputs.emplace_back(std::max<std::int64_t>(1, static_cast<std::int64_t>(at(slot).layout.get_size())));
    std::vector<void*> given(slots_.size(), nullptr);
    {
        GilRelease release;
        use_threads(thread_count());
        std::vector<const void*> held;
        std::vector<Buffer<char>> copies;
        for (std::size_t i = 0; i < arrays.size(); ++i) {
            const Dims &sizes = arrays[i].shape(), order = given_strides(inputs_[i]);
            const Storage of = type(inputs_[i]);
            held.push_back(arrays[i].data());
            if (!lies_as(sizes, arrays[i].strides(), order)) {
                const std::size_t bytes = static_cast<std::size_t>(count_of(sizes)) * size_of_value(of);
                copies.emplace_back(static_cast<std::int64_t>(bytes));
                copy_values(of, copies.back().data(), order, held.back(), sizes, arrays[i].strides());
                held.back() = copies.back().data();
            }
            const bool relied_on = spaces_[static_cast<std::size_t>(at(inputs_[i]).space)].relied_on;
            if (relied_on && unseen[i] && !all_within(of, held.back(), count_of(sizes), usual_values)) return std::nullopt;
        }
        const CloseCalls close(products_of_codes_);
        auto frame = take_frame();
        // Slots that lie in what this run is given, and in what it gives.
        for (std::size_t i = 0; i < slots_.size(); ++i) {
            const Space& space = spaces_[static_cast<std::size_t>(slots_[i].space)];
            const auto number = static_cast<std::size_t>(space.number);
            if (space.where == Space::Where::input) given[i] = const_cast<void*>(held[number]);
            if (space.where == Space::Where::output) given[i] = outputs[number].data();
            if (given[i]) frame->memories[i].set_data_handle(given[i]);
        }
        bool within = true;
        const auto walked = [&] { within = walk(*frame, given); };
        // What calls oneDNN leaves the threads to it.
        if (products_of_codes_ && only_loops_)
            Crew::with(thread_count(), walked);
        else
            walked();
        stream().wait();
        give_frame(std::move(frame));
        if (!within) return std::nullopt;
    }
    std::vector<nb::object> results;
    for (std::size_t i = 0; i < results_.size(); ++i)
        with_type(type(results_[i]), [&](auto value) {
            using T = decltype(value);
            Output<T> made(given_shape(results_[i]), given_strides(results_[i]), Buffer<T>(std::move(outputs[i])));
            results.push_back(made.to_python());
        });
    return results;
}

std::vector<std::pair<std::string, std::int64_t>> Program::steps() const {
    std::vector<std::pair<std::string, std::int64_t>> told;
    for (const Step& step : steps_) told.emplace_back(step.name, step.threads);
    return told;
}

std::vector<std::string> Program::types() const {
    std::vector<std::string> told;
    for (const Step& step : steps_) {
        // Of our own loops the last operand, of oneDNN's primitives what is so called: their last may be room to work in.
        int given = -1;
        for (const auto& [role, slot] : step.arguments)
            if (step.loop || role == DNNL_ARG_DST || role == DNNL_ARG_DIFF_SRC || role == DNNL_ARG_DIFF_WEIGHTS) given = slot;
        told.emplace_back(name_of(type(given)));
    }
    return told;
}

}  // namespace workbench::compiled
