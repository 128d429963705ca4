// oneDNN: one engine, one stream a thread, and caches of primitives so that no call builds what an earlier one built.
// Several threads may run one primitive at once: whatever a call writes to, it brings.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>

#include "layout.hpp"
#include "threads.hpp"

namespace workbench {

dnnl::engine& engine();
dnnl::stream& stream();

dnnl::memory::desc describe(const Dims& shape, const Dims& strides, dnnl::memory::data_type type);
template <typename T>
constexpr dnnl::memory::data_type kind_of = dnnl::memory::data_type::f32;
template <>
inline constexpr dnnl::memory::data_type kind_of<bfloat16> = dnnl::memory::data_type::bf16;
inline dnnl::memory::desc describe_floats(const Dims& shape, const Dims& strides) {
    return describe(shape, strides, dnnl::memory::data_type::f32);
}
// In the layout that oneDNN likes best.
inline dnnl::memory::desc describe_freely(const Dims& shape, dnnl::memory::data_type type) {
    return dnnl::memory::desc(shape, type, dnnl::memory::format_tag::any);
}
inline dnnl::memory::desc any_floats(const Dims& shape) { return describe_freely(shape, dnnl::memory::data_type::f32); }

// A memory object without storage; its pointer is set at every call.
inline dnnl::memory unbound(const dnnl::memory::desc& description) {
    return dnnl::memory(description, engine(), DNNL_MEMORY_NONE);
}
template <typename T>
void bind(dnnl::memory& memory, const T* data) {
    memory.set_data_handle(const_cast<T*>(data));
}
template <typename T>
dnnl::memory bound(const dnnl::memory::desc& description, const T* data) {
    return dnnl::memory(description, engine(), const_cast<T*>(data));
}

// A memory object with room of its own, from the pool.
class Room {
   public:
    explicit Room(const dnnl::memory::desc& description)
        : storage_(static_cast<std::int64_t>(description.get_size())), memory_(bound(description, storage_.data())) {}
    const dnnl::memory& memory() const { return memory_; }

   private:
    Buffer<std::uint8_t> storage_;
    dnnl::memory memory_;
};

// Attributes of a primitive whose callers bring the room that it works in: left to itself, it keeps one for all of them.
inline dnnl::primitive_attr with_own_room() {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return attributes;
}

// A primitive made with_own_room().
class Shared {
   public:
    Shared() = default;
    template <typename Description>
    explicit Shared(const Description& description)
        : primitive_(description.get()), room_(description.scratchpad_desc()),
          room_bytes_(static_cast<std::int64_t>(room_.get_size())) {}

    const dnnl::memory::desc& room() const { return room_; }
    std::int64_t room_bytes() const { return room_bytes_; }
    void operator()(const std::unordered_map<int, dnnl::memory>& arguments) const { primitive_.execute(stream(), arguments); }
    // The same, with room for this call.
    void with_room(const std::unordered_map<int, dnnl::memory>& arguments) const {
        if (room_bytes_ == 0) return (*this)(arguments);
        const Room room(room_);
        auto all = arguments;
        all.emplace(DNNL_ARG_SCRATCHPAD, room.memory());
        (*this)(all);
    }

   private:
    dnnl::primitive primitive_;
    dnnl::memory::desc room_;
    std::int64_t room_bytes_ = 0;
};

// Between the plain layout of a weight and oneDNN's own.
inline Shared repacking(const dnnl::memory::desc& from, const dnnl::memory::desc& to) {
    return Shared(dnnl::reorder::primitive_desc(engine(), from, engine(), to, with_own_room()));
}

struct DimsHash {
    std::size_t operator()(const Dims& dims) const noexcept {
        std::size_t hash = 0xcbf29ce484222325u;
        for (const std::int64_t value : dims) hash = (hash ^ static_cast<std::size_t>(value)) * 0x100000001b3u;
        return hash;
    }
};

// The most recently used entries by key; safe to use from several threads, which share an entry.
template <typename Entry>
class RecentlyUsed {
   public:
    explicit RecentlyUsed(std::size_t most) : most_(most) {}

    template <typename Make>
    std::shared_ptr<const Entry> get(const Dims& key, Make&& make) {
        if (const auto known = find(key)) return *known;
        // Without the lock: what is made may ask another of these, and whoever forks holds all of them in its own order.
        std::shared_ptr<const Entry> entry = make();
        std::lock_guard lock(mutex_);
        if (const auto found = index_.find(key); found != index_.end()) return found->second->second;  // of two threads, the first
        order_.emplace_front(key, entry);
        index_[key] = order_.begin();
        if (order_.size() > most_) {
            index_.erase(order_.back().first);
            order_.pop_back();
        }
        return entry;
    }
    std::size_t size() {
        std::lock_guard lock(mutex_);
        return order_.size();
    }

   private:
    // An entry may be null: what cannot be made is not tried again.
    std::optional<std::shared_ptr<const Entry>> find(const Dims& key) {
        std::lock_guard lock(mutex_);
        const auto found = index_.find(key);
        if (found == index_.end()) return std::nullopt;
        order_.splice(order_.begin(), order_, found->second);
        return found->second->second;
    }

    using Item = std::pair<Dims, std::shared_ptr<const Entry>>;
    const std::size_t most_;
    ForkMutex mutex_{ForkMutex::caches};
    std::list<Item> order_;
    std::unordered_map<Dims, typename std::list<Item>::iterator, DimsHash> index_;
};

constexpr std::size_t primitives_kept = 256;

void bind_engine(nb::module_& module);

}  // namespace workbench
