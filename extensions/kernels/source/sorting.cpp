// Order along a dimension: sorting by radix, selecting the first few, running sums.
//
// A value becomes an unsigned key that orders as the value does (NaN last, both zeros alike), turned around for descending
// order. Key and place together make one number, so that equal values keep their order and no two numbers are equal.
#include "sorting.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#define WORKBENCH_LEAVES "leaves/sorting.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

template <typename T>
struct Keys {
    using Key = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    // The place stands in the lower 32 bits.
    using Item = std::conditional_t<sizeof(T) == 4, std::uint64_t, unsigned __int128>;
    static constexpr int bits = 8 * static_cast<int>(sizeof(T));
    static constexpr Key sign = Key{1} << (bits - 1);

    static Key key(T value, bool descending) {
        Key found;
        if constexpr (std::is_floating_point_v<T>) {
            const T zeroless = value == T{0} ? T{0} : value;
            std::memcpy(&found, &zeroless, sizeof found);
            found = value != value ? ~Key{0} : found & sign ? ~found : found | sign;
        } else {
            found = static_cast<Key>(value) ^ sign;
        }
        return descending ? ~found : found;
    }
    static Item item(T value, std::uint32_t place, bool descending) {
        return static_cast<Item>(key(value, descending)) << 32 | place;
    }
};

// Sorts items by the lowest `bits` of their keys, the others being alike: radix from the lowest digit, each pass in order.
template <typename Item>
void sort_low_bits(Item* items, Item* spare, std::int64_t count, int bits) {
    if (count < 2 || bits == 0) return;
    if (count < 128) {
        std::sort(items, items + count);
        return;
    }
    const int widest = count < 4096 ? 8 : 11, passes = (bits + widest - 1) / widest, digit = (bits + passes - 1) / passes;
    const std::uint32_t buckets = 1u << digit, mask = buckets - 1;
    std::uint32_t counts[8 * 2048];  // at most 6 passes of 2048, or 8 of 256
    std::fill_n(counts, passes * static_cast<int>(buckets), 0u);
    for (std::int64_t i = 0; i < count; ++i) {
        auto key = static_cast<std::uint64_t>(items[i] >> 32);
        for (int pass = 0; pass < passes; ++pass, key >>= digit)
            ++counts[static_cast<std::uint32_t>(pass) * buckets + (static_cast<std::uint32_t>(key) & mask)];
    }
    Item *from = items, *to = spare;
    for (int pass = 0; pass < passes; ++pass) {
        std::uint32_t* starts = counts + static_cast<std::uint32_t>(pass) * buckets;
        const int shift = 32 + pass * digit;
        if (starts[static_cast<std::uint32_t>(from[0] >> shift) & mask] == static_cast<std::uint64_t>(count)) continue;
        std::uint32_t total = 0;
        for (std::uint32_t bucket = 0; bucket < buckets; ++bucket) total += std::exchange(starts[bucket], total);
        for (std::int64_t i = 0; i < count; ++i) to[starts[static_cast<std::uint32_t>(from[i] >> shift) & mask]++] = from[i];
        std::swap(from, to);
    }
    if (from != items) std::copy_n(from, count, items);
}

// Sorts items; many of them first by the highest digit in which any two differ, and then each bucket, over the threads.
// What is sorted stands in `items` or in `spare`: the result says where.
template <typename Item>
Item* sort_items(Item* items, Item* spare, std::int64_t count) {
    if (count < 128) {
        std::sort(items, items + count);
        return items;
    }
    const std::int64_t parts = omp_in_parallel() ? 1 : part_count(count, 32768);
    std::vector<std::uint64_t> differences(static_cast<std::size_t>(parts), 0);
    const auto first = static_cast<std::uint64_t>(items[0] >> 32);
    parallel_parts(count, parts, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
        std::uint64_t differ = 0;
        for (std::int64_t i = begin; i < end; ++i) differ |= static_cast<std::uint64_t>(items[i] >> 32) ^ first;
        differences[static_cast<std::size_t>(part)] = differ;
    });
    std::uint64_t differ = 0;
    for (const std::uint64_t one : differences) differ |= one;
    const int bits = differ ? 64 - __builtin_clzll(differ) : 0;
    if (count < 8192 || bits <= (parts > 1 ? 11 : 22)) {
        sort_low_bits(items, spare, count, bits);
        return items;
    }
    constexpr std::uint32_t buckets = 2048, mask = buckets - 1;
    const int shift = 32 + bits - 11;
    std::vector<std::uint32_t> starts(static_cast<std::size_t>(parts) * buckets, 0), ends(buckets + 1);
    parallel_parts(count, parts, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
        std::uint32_t* mine = starts.data() + static_cast<std::size_t>(part) * buckets;
        for (std::int64_t i = begin; i < end; ++i) ++mine[static_cast<std::uint32_t>(items[i] >> shift) & mask];
    });
    std::uint32_t total = 0;
    for (std::uint32_t bucket = 0; bucket < buckets; ++bucket) {
        for (std::size_t part = 0; part < static_cast<std::size_t>(parts); ++part)
            total += std::exchange(starts[part * buckets + bucket], total);
        ends[bucket + 1] = total;
    }
    parallel_parts(count, parts, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
        std::uint32_t* mine = starts.data() + static_cast<std::size_t>(part) * buckets;
        for (std::int64_t i = begin; i < end; ++i) spare[mine[static_cast<std::uint32_t>(items[i] >> shift) & mask]++] = items[i];
    });
    // A thread takes the buckets that begin in its share of the items.
    parallel_parts(count, parts, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
        auto bucket = static_cast<std::uint32_t>(std::lower_bound(ends.begin(), ends.end() - 1, begin) - ends.begin());
        for (; bucket < buckets && ends[bucket] < end; ++bucket)
            sort_low_bits(spare + ends[bucket], items + ends[bucket], ends[bucket + 1] - ends[bucket], bits - 11);
    });
    return spare;
}

// An array seen as [outer, size, inner]: each of outer x inner is one row of `size` values, `inner` apart.
struct Lines {
    std::int64_t outer = 1, size = 1, inner = 1;

    Lines(const Dims& shape, std::int64_t dim, const char* name) {
        if (dim < 0 || dim >= static_cast<std::int64_t>(shape.size()))
            refuse(std::string(name) + " along dim " + std::to_string(dim) + " of shape " + text(shape));
        count_of(shape);
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(shape.size()); ++i)
            (i < dim ? outer : i == dim ? size : inner) *= shape[static_cast<std::size_t>(i)];
        if (size >= (std::int64_t{1} << 31)) refuse(std::string(name) + " along a dim of " + std::to_string(size) + " values");
    }
};

// Calls body(line, items, spare, write) with lines that lie densely, those of the last dimension as they are, others copied sixteen
// at a time, since that is what a cache line brings; write(items) puts the first `kept` where they belong.
template <typename T, typename Body>
void sort_lines(const Lines& lines, const T* x, std::int64_t kept, T* values, std::int64_t* indices,
                const Body& body) {
    using Item = typename Keys<T>::Item;
    constexpr std::int64_t together = 16;
    if (lines.size == 0) return;
    const std::int64_t blocks = (lines.inner + together - 1) / together;
    const double steps = 8 * static_cast<double>(lines.size) * static_cast<double>(std::min(lines.inner, together));
    parallel_for(lines.outer * blocks, std::max<std::int64_t>(1, static_cast<std::int64_t>(65536 / std::max(1.0, steps))),
                 [&](std::int64_t begin, std::int64_t end) {
        const Buffer<Item> items(lines.size), spare(lines.size);
        const Buffer<T> columns(lines.inner > 1 ? together * lines.size : 0);
        for (std::int64_t task = begin; task < end; ++task) {
            const std::int64_t first = task % blocks * together, many = std::min(together, lines.inner - first);
            const T* from = x + task / blocks * lines.size * lines.inner + first;
            const std::int64_t at = task / blocks * kept * lines.inner + first;
            if (lines.inner > 1) {
                for (std::int64_t i = 0; i < lines.size; ++i)
                    for (std::int64_t c = 0; c < many; ++c) columns.data()[c * lines.size + i] = from[i * lines.inner + c];
            }
            for (std::int64_t c = 0; c < many; ++c) {
                const T* line = lines.inner > 1 ? columns.data() + c * lines.size : from;
                body(line, items.data(), spare.data(), [&](const auto* sorted) {
                    parallel_for(kept, 65536, [&](std::int64_t start, std::int64_t stop) {
                        for (std::int64_t i = start; i < stop; ++i) {
                            const auto place = static_cast<std::uint32_t>(sorted[i]);
                            values[at + c + i * lines.inner] = line[place];
                            indices[at + c + i * lines.inner] = place;
                        }
                    });
                });
            }
        }
    });
}

template <typename T, typename Write>
void sort_line(const T* line, std::int64_t count, bool descending, typename Keys<T>::Item* items,
               typename Keys<T>::Item* spare, const Write& write) {
    const auto fill = [&](auto* to) {
        using Item = std::remove_pointer_t<decltype(to)>;
        parallel_for(count, 32768, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i)
                to[i] = static_cast<Item>(Keys<T>::key(line[i], descending)) << 32 | static_cast<std::uint32_t>(i);
        });
    };
    if constexpr (sizeof(T) == 8) {
        // Keys that differ in their lower halves only, as small integers do, need half the memory.
        std::uint64_t differ = 0;
        const std::uint64_t first = Keys<T>::key(line[0], descending);
        for (std::int64_t i = 1; i < count && !(differ >> 32); ++i) differ |= Keys<T>::key(line[i], descending) ^ first;
        if (!(differ >> 32)) {
            auto* narrow = reinterpret_cast<std::uint64_t*>(items);
            fill(narrow);
            write(sort_items(narrow, reinterpret_cast<std::uint64_t*>(spare), count));
            return;
        }
    }
    fill(items);
    write(sort_items(items, spare, count));
}

template <typename T>
nb::object sort(const Input<T>& x, std::int64_t dim, bool descending) {
    const Dims shape = shape_of(x);
    const Lines lines(shape, dim, "sort");
    auto values = Output<T>::row_major(shape);
    auto indices = Output<std::int64_t>::row_major(shape);
    {
        KernelScope scope;
        const auto input = row_major(x);
        sort_lines<T>(lines, input.data(), lines.size, values.data(), indices.data(),
                      [&](const T* line, auto* items, auto* spare, const auto& write) {
                          sort_line<T>(line, lines.size, descending, items, spare, write);
                      });
    }
    return nb::make_tuple(values.to_python(), indices.to_python());
}

// Leaves the first `k` of `count` values in `items`, in order. Candidates are those that beat the worst of the k best
// found so far; when there are twice as many as wanted, the better half stays.
template <typename T>
void select_first(const T* line, std::int64_t count, std::int64_t k, bool largest, typename Keys<T>::Item* items) {
    std::int64_t held = 0;
    const std::int64_t room = std::min(count, std::max<std::int64_t>(2 * k, k + 64));
    const auto shrink = [&] {
        std::nth_element(items, items + (k - 1), items + held);
        held = k;
    };
    std::int64_t i = 0;
    for (; i < room; ++i) items[held++] = Keys<T>::item(line[i], static_cast<std::uint32_t>(i), largest);
    shrink();
    if constexpr (std::is_same_v<T, float>) {
        std::uint32_t places[64 + 16];
        while (i < count) {
            const float limit = line[static_cast<std::uint32_t>(items[k - 1])];
            const std::int64_t found =
                LEAF_WIDE(candidates)(line, &i, count, limit, largest, places, std::min<std::int64_t>(64, room - held));
            for (std::int64_t c = 0; c < found; ++c) {
                if (held == room) shrink();
                items[held++] = Keys<T>::item(line[places[c]], places[c], largest);
            }
            if (held == room && i < count) shrink();
        }
    } else {
        auto limit = items[k - 1];
        for (; i < count; ++i) {
            const auto item = Keys<T>::item(line[i], static_cast<std::uint32_t>(i), largest);
            if (item < limit) {
                items[held++] = item;
                if (held == room) shrink(), limit = items[k - 1];
            }
        }
    }
    std::nth_element(items, items + (k - 1), items + held);
    std::sort(items, items + k);  // places count: these do not stand in their order
}

template <typename T>
nb::object topk(const Input<T>& x, std::int64_t k, std::int64_t dim, bool largest) {
    Dims shape = shape_of(x);
    const Lines lines(shape, dim, "topk");
    if (k < 0 || k > lines.size) refuse("topk of " + std::to_string(k) + " along a dim of " + std::to_string(lines.size));
    shape[static_cast<std::size_t>(dim)] = k;
    auto values = Output<T>::row_major(shape);
    auto indices = Output<std::int64_t>::row_major(shape);
    if (k > 0) {
        KernelScope scope;
        const auto input = row_major(x);
        sort_lines<T>(lines, input.data(), k, values.data(), indices.data(),
                      [&](const T* line, auto* items, auto* spare, const auto& write) {
                          if (k > lines.size / 8 || lines.size < 64) {
                              sort_line<T>(line, lines.size, largest, items, spare, write);
                          } else {
                              select_first<T>(line, lines.size, k, largest, items);
                              write(items);
                          }
                      });
    }
    return nb::make_tuple(values.to_python(), indices.to_python());
}

template <typename T>
nb::object cumsum(const Input<T>& x, std::int64_t dim) {
    const Dims shape = shape_of(x);
    const Lines lines(shape, dim, "cumsum");
    auto out = Output<T>::row_major(shape);
    {
        KernelScope scope;
        const auto input = row_major(x);
        const T* from = input.data();
        if (lines.inner == 1) {
            parallel_for(lines.outer, grain_for(lines.size), [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t line = begin * lines.size; line < end * lines.size; line += lines.size) {
                    if constexpr (std::is_same_v<T, float>) {
                        LEAF_WIDE(running_sum)(from + line, lines.size, out.data() + line);
                    } else {
                        T carry = 0;
                        for (std::int64_t i = 0; i < lines.size; ++i) out.data()[line + i] = carry += from[line + i];
                    }
                }
            });
        } else {
            // Side by side, in doubles where the values are floats.
            using Sum = std::conditional_t<std::is_same_v<T, float>, double, T>;
            constexpr std::int64_t together = 512;
            const std::int64_t blocks = (lines.inner + together - 1) / together;
            parallel_for(lines.outer * blocks, grain_for(lines.size * std::min(lines.inner, together)),
                         [&](std::int64_t begin, std::int64_t end) {
                             Sum sums[together];
                             for (std::int64_t task = begin; task < end; ++task) {
                                 const std::int64_t first = task % blocks * together;
                                 const std::int64_t many = std::min(together, lines.inner - first);
                                 const std::int64_t at = task / blocks * lines.size * lines.inner + first;
                                 std::fill_n(sums, many, Sum{0});
                                 for (std::int64_t i = 0; i < lines.size; ++i) {
                                     const T* row = from + at + i * lines.inner;
                                     T* to = out.data() + at + i * lines.inner;
                                     for (std::int64_t c = 0; c < many; ++c)
                                         to[c] = static_cast<T>(sums[c] += static_cast<Sum>(row[c]));
                                 }
                             }
                         });
        }
    }
    return out.to_python();
}

template <typename T>
void bind_for(nb::module_& module) {
    using nb::arg;
    module.def("sort", &sort<T>, arg("x").noconvert(), nb::kw_only(), arg("dim"), arg("descending"));
    module.def("topk", &topk<T>, arg("x").noconvert(), nb::kw_only(), arg("k"), arg("dim"), arg("largest"));
}

}  // namespace

void bind_order(nb::module_& module) {
    using nb::arg;
    bind_for<float>(module), bind_for<double>(module), bind_for<std::int64_t>(module), bind_for<std::int32_t>(module);
    module.def("cumsum", &cumsum<float>, arg("x").noconvert(), nb::kw_only(), arg("dim"));
    module.def("cumsum", &cumsum<std::int64_t>, arg("x").noconvert(), nb::kw_only(), arg("dim"));
    module.def("cumsum", &cumsum<double>, arg("x").noconvert(), nb::kw_only(), arg("dim"));
}

}  // namespace workbench
