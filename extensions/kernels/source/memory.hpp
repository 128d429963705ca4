// Buffers that are handed out again instead of going back to the operating system after every op.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <nanobind/nanobind.h>

namespace workbench {

// 64-byte aligned memory of at least `bytes`; throws std::bad_alloc.
void* pool_take(std::size_t bytes);
void pool_give(void* data) noexcept;

// Owns one pooled buffer of T; movable, not copyable.
template <typename T>
class Buffer {
   public:
    Buffer() = default;
    explicit Buffer(std::int64_t count) : data_(static_cast<T*>(pool_take(static_cast<std::size_t>(count) * sizeof(T)))) {}
    Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
    template <typename Other>  // the same memory, as values of another type
    explicit Buffer(Buffer<Other>&& other) noexcept : data_(reinterpret_cast<T*>(other.release())) {}
    Buffer& operator=(Buffer&& other) noexcept {
        std::swap(data_, other.data_);
        return *this;
    }
    ~Buffer() {
        if (data_) pool_give(data_);
    }
    T* data() const { return data_; }
    T* release() { return std::exchange(data_, nullptr); }
    explicit operator bool() const { return data_ != nullptr; }

   private:
    T* data_ = nullptr;
};

// Whether `floats` values, read and written together, are more than the last cache holds: then writing past the caches pays.
bool outgrows_caches(std::int64_t floats);

void bind_memory(nanobind::module_& module);

}  // namespace workbench
