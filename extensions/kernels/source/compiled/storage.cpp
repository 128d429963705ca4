#include "storage.hpp"

#include <atomic>

#define WORKBENCH_LEAVES "leaves/finite.inl"
#include "../dispatch.hpp"

namespace workbench::compiled {
namespace {

// Exponents of ones only. Plain code: these types are rarely given, and reading them is most of the time.
bool finite_bits(const bfloat16* data, std::int64_t count) {
    unsigned none = 0;
    for (std::int64_t i = 0; i < count; ++i) none |= static_cast<unsigned>((data[i].bits & 0x7f80) == 0x7f80);
    return !none;
}
bool finite_bits(const double* data, std::int64_t count) {
    bool found = true;
    for (std::int64_t i = 0; i < count; ++i) found = found && data[i] - data[i] == 0.0;
    return found;
}
bool finite_bits(const float* data, std::int64_t count) { return LEAF(is_finite)(data, count); }

template <typename T>
bool finite_values(const T* data, std::int64_t count) {
    constexpr std::int64_t part = 1 << 16;
    std::atomic<bool> finite{true};
    parallel_for((count + part - 1) / part, 8, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
            if (!finite_bits(data + i * part, std::min(part, count - i * part))) finite.store(false);
    });
    return finite.load();
}

}  // namespace

Storage storage_named(const std::string& name) {
    for (int i = 0; i <= static_cast<int>(Storage::float64); ++i)
        if (name == name_of(static_cast<Storage>(i))) return static_cast<Storage>(i);
    refuse("a chain knows no type " + name);
}

AnyArray::AnyArray(nb::handle array, Storage type, const std::string& what) {
    with_type(type, [&](auto value) {
        using T = decltype(value);
        Input<T> taken;
        if (!nb::try_cast<Input<T>>(array, taken, false))
            throw nb::type_error((what + " is not of the type that it was made for, " + name_of(type)).c_str());
        data_ = taken.data(), shape_ = shape_of(taken), strides_ = strides_of(taken);
        kept_ = std::move(taken);
    });
}

void copy_values(Storage type, void* to, const Dims& target, const void* from, const Dims& shape, const Dims& strides) {
    const auto copy = [&](auto value) {
        using T = decltype(value);
        copy_strided(static_cast<T*>(to), target, static_cast<const T*>(from), shape, strides);
    };
    switch (size_of_value(type)) {
        case 1: return copy(std::uint8_t{});
        case 2: return copy(bfloat16{});
        case 4: return copy(std::int32_t{});
        default: copy(std::int64_t{});
    }
}

bool all_finite(Storage type, const void* data, std::int64_t count) {
    switch (type) {
        case Storage::float32: return finite_values(static_cast<const float*>(data), count);
        case Storage::float64: return finite_values(static_cast<const double*>(data), count);
        case Storage::bfloat16: return finite_values(static_cast<const bfloat16*>(data), count);
        default: return true;
    }
}

}  // namespace workbench::compiled
