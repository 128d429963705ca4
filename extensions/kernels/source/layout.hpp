// Arrays as kernels see them: any strides in, channels-last out.
//
// A logical shape is [N, C, *spatial] as in PyTorch; "channels-last" means that memory holds [N, *spatial, C] densely.
// An input that already lies so is used in place; any other one is copied into a pooled buffer.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bfloat16.hpp"
#include "memory.hpp"

namespace workbench {

namespace nb = nanobind;

// An array that a kernel reads. Its values lie at multiples of their size, as C++ expects of a pointer to them, and so do
// its strides: NumPy's arrays need not (a field of records, a view into a file), and those are copied on the way in.
template <typename T, typename... Config>
class Operand : public nb::ndarray<const typename Carried<T>::type, nb::device::cpu, Config...> {
   public:
    using Array = nb::ndarray<const typename Carried<T>::type, nb::device::cpu, Config...>;
    using Value = T;
    using Array::Array;
    Operand() = default;
    Operand(const Array& array) : Array(array) {}
    const T* data() const { return reinterpret_cast<const T*>(Array::data()); }
};
template <typename T>
using Input = Operand<T>;
template <typename T>
using InPlace = nb::ndarray<T, nb::device::cpu>;

template <typename Array>
bool is_aligned(const Array& array) {
    return reinterpret_cast<std::uintptr_t>(array.data()) % alignof(typename Array::Scalar) == 0;
}
// Whether a NumPy array steps by parts of its values; nanobind takes none such.
bool steps_between_values(nb::handle array) noexcept;
// NumPy's type of bfloat16, and an array of that type as its bits: a new reference, or null where it is of another type.
nb::handle bfloat16_type();
// The module within `module` of the functions on bfloat16, named as those on floats.
nb::module_ bfloat16_module(nb::module_& module);
nb::object bits_of_bfloat16(nb::handle array) noexcept;
using Dims = std::vector<std::int64_t>;

[[noreturn]] void refuse(const std::string& reason);
std::string text(const Dims& dims);
// The product of sizes; refuses negative sizes and products that do not fit memory.
std::int64_t count_of(const Dims& shape);
// Strides (in elements) of a dense array whose memory order is `shape` itself, or channels-last.
Dims row_major_strides(const Dims& shape);
Dims channels_last_strides(const Dims& shape);
// Strides of a dense array that orders its dimensions in memory as `strides` do.
Dims dense_strides_like(const Dims& shape, const Dims& strides);
// Whether elements lie densely in the order of `expected` strides (the stride of a size-1 dimension does not matter).
bool lies_as(const Dims& shape, const Dims& strides, const Dims& expected);

// Memory that is there and takes a result: without gaps, and perhaps that of what is read.
template <typename T>
using Target = nb::ndarray<T, nb::device::cpu, nb::c_contig>;
template <typename T>
using Plain = Operand<T, nb::c_contig>;

template <typename Array>
Dims shape_of(const Array& array) {
    Dims shape(array.ndim());
    for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = static_cast<std::int64_t>(array.shape(i));
    return shape;
}

template <typename Array>
Dims strides_of(const Array& array) {
    Dims strides(array.ndim());
    for (std::size_t i = 0; i < strides.size(); ++i) strides[i] = array.stride(i);
    return strides;
}

// How many values go from an operand into memory of the same sizes.
template <typename T>
std::int64_t count_into(const Target<T>& out, const Plain<T>& x) {
    if (shape_of(out) != shape_of(x)) refuse("a result of " + text(shape_of(x)) + " into memory of " + text(shape_of(out)));
    if (!is_aligned(out)) refuse("memory to write into does not begin at a multiple of the size of its values");
    return count_of(shape_of(out));
}

// Copies elements of any strides into dense memory whose order is given by `target` strides.
template <typename T>
void copy_strided(T* to, const Dims& target, const T* from, const Dims& shape, const Dims& strides);

// A dense array in a chosen memory order: a borrowed pointer, or an owned copy when the input lies otherwise.
template <typename T>
class Dense {
   public:
    Dense(const Input<T>& array, const Dims& order_strides) : shape_(shape_of(array)) {
        const Dims strides = strides_of(array);
        if (lies_as(shape_, strides, order_strides)) {
            data_ = array.data();
        } else {
            copy_ = Buffer<T>(count_of(shape_));
            copy_strided(copy_.data(), order_strides, array.data(), shape_, strides);
            data_ = copy_.data();
        }
    }
    const T* data() const { return data_; }
    const Dims& shape() const { return shape_; }

   private:
    Dims shape_;
    Buffer<T> copy_;
    const T* data_ = nullptr;
};

template <typename T>
Dense<T> channels_last(const Input<T>& array) {
    return Dense<T>(array, channels_last_strides(shape_of(array)));
}

template <typename T>
Dense<T> row_major(const Input<T>& array) {
    return Dense<T>(array, row_major_strides(shape_of(array)));
}

// An array of NumPy's: few values are copied into memory of its own, `memory` goes to it where they are many. `kind` is 'f', 'i',
// 'u' or 'b', as in NumPy; strides are in values.
nb::object array_around(Buffer<char>& memory, char kind, std::size_t size, const Dims& shape, const Dims& strides);

// A new array: memory from the pool, owned by the NumPy array that Python receives.
template <typename T>
class Output {
   public:
    Output(Dims shape, Dims strides) : shape_(std::move(shape)), strides_(std::move(strides)), buffer_(count_of(shape_)) {}
    Output(Dims shape, Dims strides, Buffer<T> buffer) : shape_(std::move(shape)), strides_(std::move(strides)), buffer_(std::move(buffer)) {}
    static Output channels_last(const Dims& shape) { return Output(shape, channels_last_strides(shape)); }
    static Output row_major(const Dims& shape) { return Output(shape, row_major_strides(shape)); }

    T* data() const { return buffer_.data(); }
    const Dims& shape() const { return shape_; }

    nb::object to_python() {
        using Carried = typename workbench::Carried<T>::type;
        constexpr char kind = std::is_same_v<Carried, bool> ? 'b' : std::is_floating_point_v<Carried> ? 'f'
                              : std::is_signed_v<Carried>   ? 'i'
                                                            : 'u';
        static_assert(std::is_arithmetic_v<Carried>);
        Buffer<char> memory(std::move(buffer_));
        const nb::object made = array_around(memory, kind, sizeof(Carried), shape_, strides_);
        if constexpr (std::is_same_v<T, bfloat16>)
            return made.attr("view")(bfloat16_type());
        else
            return made;
    }

   private:
    Dims shape_, strides_;
    Buffer<T> buffer_;
};

}  // namespace workbench

namespace nanobind::detail {

template <typename T, typename... Config>
struct type_caster<workbench::Operand<T, Config...>> {
    using Taken = workbench::Operand<T, Config...>;
    using Plain = make_caster<typename Taken::Array>;
    NB_TYPE_CASTER(Taken, Plain::Name)

    bool from_python(handle src, std::uint32_t flags, cleanup_list* cleanup) noexcept {
        if constexpr (std::is_same_v<typename Taken::Value, workbench::bfloat16>) {
            const object bits = workbench::bits_of_bfloat16(src);
            return bits.is_valid() && taken(bits, flags, cleanup);
        } else {
            return taken(src, flags, cleanup);
        }
    }

    bool taken(handle src, std::uint32_t flags, cleanup_list* cleanup) noexcept {
        Plain plain;
        const bool fits = plain.from_python(src, flags, cleanup);
        if (fits && (src.is_none() || workbench::is_aligned(plain.value))) {
            value = plain.value;
            return true;
        }
        if (!fits && !workbench::steps_between_values(src)) return false;
        try {
            const object copy = src.attr("copy")();
            if (!plain.from_python(copy, flags, cleanup) || !workbench::is_aligned(plain.value)) return false;
        } catch (const python_error&) {  // no memory: the error of the call says what it was given
            return false;
        }
        value = plain.value;
        return true;
    }
};

}  // namespace nanobind::detail
