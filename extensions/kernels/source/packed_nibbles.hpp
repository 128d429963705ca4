#pragma once

#include "layout.hpp"

namespace workbench {

constexpr int nibble_outputs = 32;  // of a panel of weights of four bits
constexpr int nibbles_of_a_word = 8;

// How the weights of a panel lie. With AVX-512, which looks codes up: for each input sixteen bytes, with sixteen outputs in
// their lower halves and sixteen in the upper ones. Elsewhere, for eight inputs: a word of 32 bits for each of sixteen outputs.
// Those in the upper half of a byte stay there when they become a float, 16·n, which then meets x / 16: both are exact.
enum class NibbleLayout { bytes, words };

void bind_packed_nibbles(nb::module_& module);

}  // namespace workbench
