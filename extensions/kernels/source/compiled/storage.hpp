// Types of values in memory, of chains and of programs.
#pragma once

#include <memory>
#include <variant>

#include "../engine.hpp"

namespace workbench::compiled {

using Layout = dnnl::memory::desc;
using Kind = dnnl::memory::data_type;

// A chain computes in one of the last four; others are turned into it on the way in and back, but for codes, which it does not take.
enum class Storage : int { boolean, quint8, qint8, bfloat16, int32, int64, float32, float64 };

constexpr std::size_t size_of_value(Storage type) {
    switch (type) {
        case Storage::boolean: case Storage::quint8: case Storage::qint8: return 1;
        case Storage::bfloat16: return 2;
        case Storage::int32: case Storage::float32: return 4;
        case Storage::int64: case Storage::float64: return 8;
    }
    return 0;
}

constexpr const char* name_of(Storage type) {
    switch (type) {
        case Storage::boolean: return "bool";
        case Storage::quint8: return "quint8";
        case Storage::qint8: return "qint8";
        case Storage::bfloat16: return "bfloat16";
        case Storage::int32: return "int32";
        case Storage::int64: return "int64";
        case Storage::float32: return "float32";
        case Storage::float64: return "float64";
    }
    return "";
}

// By what oneDNN describes how values lie. It has no type for int64: those lie as what is as wide does.
constexpr Kind kind_of_values(Storage type) {
    switch (type) {
        case Storage::boolean: case Storage::quint8: return Kind::u8;
        case Storage::qint8: return Kind::s8;
        case Storage::bfloat16: return Kind::bf16;
        case Storage::int32: return Kind::s32;
        case Storage::float32: return Kind::f32;
        case Storage::int64: case Storage::float64: return Kind::f64;
    }
    return Kind::undef;
}

// The same order for values of another type; none where there is no name for it.
std::optional<Layout> with_type_of(const Layout& layout, Kind kind);

// Calls something with a value of the type that lies in memory.
template <typename Body>
void with_type(Storage storage, Body&& body) {
    switch (storage) {
        case Storage::boolean: body(bool{}); break;
        case Storage::quint8: body(std::uint8_t{}); break;
        case Storage::qint8: body(std::int8_t{}); break;
        case Storage::bfloat16: body(bfloat16{}); break;
        case Storage::int32: body(std::int32_t{}); break;
        case Storage::int64: body(std::int64_t{}); break;
        case Storage::float32: body(float{}); break;
        case Storage::float64: body(double{}); break;
    }
}

// Refuses a name that is none of theirs.
Storage storage_named(const std::string& name);

// An array of any of these types, as Python gives it, with each value at a multiple of its size; or one whole number.
class AnyArray {
   public:
    // Raises TypeError for an array of another type; `what` says which it is.
    AnyArray(nb::handle array, Storage type, const std::string& what);
    // Weights, which are float32 or bfloat16 and lie row by row.
    static AnyArray weight(nb::handle array);
    Storage type() const { return type_; }
    Kind kind() const { return kind_of_values(type_); }
    const void* data() const { return data_; }
    const Dims& shape() const { return shape_; }
    const Dims& strides() const { return strides_; }

   private:
    std::variant<std::monostate, Input<bool>, Input<std::uint8_t>, Input<std::int8_t>, Input<bfloat16>, Input<std::int32_t>, Input<std::int64_t>, Input<float>, Input<double>> kept_;
    Storage type_;
    std::shared_ptr<std::int64_t> number_;
    const void* data_ = nullptr;
    Dims shape_, strides_;
};

// Values of any type from one order into another; strides are in values.
void copy_values(Storage type, void* to, const Dims& target, const void* from, const Dims& shape, const Dims& strides);

// Whether no value is NaN, or larger than `most`, which is a power of two; whole numbers are not looked at.
bool all_within(Storage type, const void* data, std::int64_t count, double most);

// The largest magnitude; infinity where a value is NaN.
double largest_value(Storage type, const void* data, std::int64_t count);

// The largest sum of the magnitudes of a row, of float32 or bfloat16; infinity or NaN where a value is.
double heaviest_row(Storage type, const void* data, std::int64_t rows, std::int64_t columns);

}  // namespace workbench::compiled
