#include "storage.hpp"

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#define WORKBENCH_LEAVES "leaves/finite.inl"
#include "../dispatch.hpp"

namespace workbench::compiled {
namespace {

// Plain code: these types are rarely given, and reading them is most of the time.
bool within(const bfloat16* data, std::int64_t count, double most) {
    std::int32_t bits;
    const auto wide = static_cast<float>(most);
    std::memcpy(&bits, &wide, sizeof bits);
    int beyond = 0;
    for (std::int64_t i = 0; i < count; ++i) beyond |= (data[i].bits & 0x7fff) > bits >> 16;
    return !beyond;
}
bool within(const double* data, std::int64_t count, double most) {
    bool found = true;
    for (std::int64_t i = 0; i < count; ++i) found = found && std::abs(data[i]) <= most;
    return found;
}
bool within(const float* data, std::int64_t count, double most) {
    std::int32_t bits;
    const auto same = static_cast<float>(most);
    std::memcpy(&bits, &same, sizeof bits);
    return LEAF(is_within)(data, count, bits);
}

template <typename T>
bool values_within(const T* data, std::int64_t count, double most) {
    constexpr std::int64_t part = 1 << 16;
    std::atomic<bool> found{true};
    parallel_for((count + part - 1) / part, 8, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
            if (!within(data + i * part, std::min(part, count - i * part), most)) found.store(false);
    });
    return found.load();
}

}  // namespace

std::optional<Layout> with_type_of(const Layout& layout, Kind kind) {
    using Tag = dnnl::memory::format_tag;
    if (layout.get_data_type() == kind) return layout;
    const Dims sizes = layout.get_dims();
    if (!layout.get_inner_nblks()) return describe(sizes, layout.get_strides(), kind);
    static const std::map<std::pair<std::size_t, std::int64_t>, Tag> tags{
        {{3, 4}, Tag::aBc4b},   {{3, 8}, Tag::aBc8b},   {{3, 16}, Tag::aBc16b},   {{4, 4}, Tag::aBcd4b},   {{4, 8}, Tag::aBcd8b},
        {{4, 16}, Tag::aBcd16b}, {{5, 4}, Tag::aBcde4b}, {{5, 8}, Tag::aBcde8b}, {{5, 16}, Tag::aBcde16b}};
    const auto tag = tags.find({sizes.size(), layout.get_inner_blks()[0]});
    if (layout.get_inner_nblks() != 1 || layout.get_inner_idxs()[0] != 1 || tag == tags.end()) return std::nullopt;
    // Without gaps, that is; with them it would be another order.
    const Layout made(sizes, kind, tag->second);
    return made.get_strides() == layout.get_strides() ? std::optional(made) : std::nullopt;
}

Storage storage_named(const std::string& name) {
    for (int i = 0; i <= static_cast<int>(Storage::float64); ++i)
        if (name == name_of(static_cast<Storage>(i))) return static_cast<Storage>(i);
    refuse("a chain knows no type " + name);
}

AnyArray::AnyArray(nb::handle array, Storage type, const std::string& what) : type_(type) {
    if (type == Storage::int64 && nb::isinstance<nb::int_>(array)) {
        number_ = std::make_shared<std::int64_t>(nb::cast<std::int64_t>(array));
        data_ = number_.get();
        return;
    }
    with_type(type, [&](auto value) {
        using T = decltype(value);
        Input<T> taken;
        if (!nb::try_cast<Input<T>>(array, taken, false))
            throw nb::type_error((what + " is not of the type that it was made for, " + name_of(type)).c_str());
        data_ = taken.data(), shape_ = shape_of(taken), strides_ = strides_of(taken);
        kept_ = std::move(taken);
    });
}

AnyArray AnyArray::weight(nb::handle array) {
    AnyArray made(array, bits_of_bfloat16(array).is_valid() ? Storage::bfloat16 : Storage::float32, "a weight");
    if (!lies_as(made.shape_, made.strides_, row_major_strides(made.shape_))) refuse("a weight lies row by row");
    return made;
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

bool all_within(Storage type, const void* data, std::int64_t count, double most) {
    switch (type) {
        case Storage::float32: return values_within(static_cast<const float*>(data), count, most);
        case Storage::float64: return values_within(static_cast<const double*>(data), count, most);
        case Storage::bfloat16: return values_within(static_cast<const bfloat16*>(data), count, most);
        default: return true;
    }
}

double largest_value(Storage type, const void* data, std::int64_t count) {
    double largest = 0;
    with_type(type, [&](auto value) {
        const auto* values = static_cast<const decltype(value)*>(data);
        for (std::int64_t i = 0; i < count; ++i) {
            const double one = std::abs(static_cast<double>(values[i]));
            largest = one <= largest ? largest : one == one ? one : std::numeric_limits<double>::infinity();
        }
    });
    return largest;
}

double heaviest_row(Storage type, const void* data, std::int64_t rows, std::int64_t columns) {
    if (type == Storage::float32) return static_cast<double>(LEAF(heaviest_row)(static_cast<const float*>(data), rows, columns));
    double heaviest = 0;
    const auto* values = static_cast<const bfloat16*>(data);
    for (std::int64_t row = 0; row < rows; ++row, values += columns) {
        double sum = 0;
        for (std::int64_t i = 0; i < columns; ++i) sum += std::abs(static_cast<double>(static_cast<float>(values[i])));
        if (!(sum <= heaviest)) heaviest = sum;
    }
    return heaviest;
}

}  // namespace workbench::compiled
