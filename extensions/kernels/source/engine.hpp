// oneDNN: one engine, one stream a thread, and caches of primitives so that no call builds what an earlier one built.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>

#include "layout.hpp"

namespace workbench {

dnnl::engine& engine();
dnnl::stream& stream();

dnnl::memory::desc describe(const Dims& shape, const Dims& strides, dnnl::memory::data_type type);
inline dnnl::memory::desc describe_floats(const Dims& shape, const Dims& strides) {
    return describe(shape, strides, dnnl::memory::data_type::f32);
}
inline dnnl::memory::desc any_floats(const Dims& shape) {
    return dnnl::memory::desc(shape, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any);
}

// A memory object without storage; its pointer is set at every call.
inline dnnl::memory unbound(const dnnl::memory::desc& description) {
    return dnnl::memory(description, engine(), DNNL_MEMORY_NONE);
}
template <typename T>
void bind(dnnl::memory& memory, const T* data) {
    memory.set_data_handle(const_cast<T*>(data));
}

struct DimsHash {
    std::size_t operator()(const Dims& dims) const noexcept {
        std::size_t hash = 0xcbf29ce484222325u;
        for (const std::int64_t value : dims) hash = (hash ^ static_cast<std::size_t>(value)) * 0x100000001b3u;
        return hash;
    }
};

// The most recently used entries by key; safe to use from several threads. `Entry` carries its own mutex when its use
// (not its making) must be exclusive.
template <typename Entry>
class RecentlyUsed {
   public:
    explicit RecentlyUsed(std::size_t most) : most_(most) {}

    template <typename Make>
    std::shared_ptr<Entry> get(const Dims& key, Make&& make) {
        std::lock_guard lock(mutex_);
        if (const auto found = index_.find(key); found != index_.end()) {
            order_.splice(order_.begin(), order_, found->second);
            return found->second->second;
        }
        std::shared_ptr<Entry> entry = make();
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
    using Item = std::pair<Dims, std::shared_ptr<Entry>>;
    const std::size_t most_;
    std::mutex mutex_;
    std::list<Item> order_;
    std::unordered_map<Dims, typename std::list<Item>::iterator, DimsHash> index_;
};

constexpr std::size_t primitives_kept = 256;

void bind_engine(nb::module_& module);

}  // namespace workbench
