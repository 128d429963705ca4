// Planes of images, [rows, columns, depth]: some channels side by side, with whatever a window meets outside the image written
// out as zeros. Included once per instruction set; see dispatch.hpp.
#include "layout.inl"

static WORKBENCH_INLINE floats load_up_to(const float* p, std::int64_t count) { return count < lanes ? load_some(p, count) : load_floats(p); }

// One row of an image to a row of a plane, `columns` places of `channels` <= lanes channels; lanes beyond become zeros.
static WORKBENCH_INLINE void row_to_lanes(const float* from, std::int64_t channel_step, std::int64_t column_step, std::int64_t channels,
                                          std::int64_t columns, float* to, std::int64_t depth) {
    if (channel_step == 1) {
        for (std::int64_t c = 0; c < columns; ++c) store_floats(to + c * depth, load_up_to(from + c * column_step, channels));
        return;
    }
    if (channel_step == 0 && column_step == 0) {
        const floats everywhere = keep_some(all(*from), channels < lanes ? channels : lanes);
        for (std::int64_t c = 0; c < columns; ++c) store_floats(to + c * depth, everywhere);
        return;
    }
    const std::int64_t by_eight = column_step == 1 && columns >= 8 ? channels / 8 * 8 : 0;
    for (std::int64_t channel = 0; channel < by_eight; channel += 8)
        for (std::int64_t c = 0; c < columns; c += 8) {
            const std::int64_t first = c + 8 > columns ? columns - 8 : c;  // the last ones by a step back
            transpose_eight(from + channel * channel_step + first, channel_step, to + first * depth + channel, depth);
        }
    for (std::int64_t c = 0; c < columns; ++c)
        for (std::int64_t channel = by_eight; channel < lanes; ++channel)
            to[c * depth + channel] = channel < channels ? from[channel * channel_step + c * column_step] : 0.f;
}

static WORKBENCH_INLINE void row_to_plane(const float* from, const PlaneOf& p, std::int64_t column_step, std::int64_t columns, float* to) {
    for (std::int64_t channel = 0; channel < p.depth; channel += lanes)
        row_to_lanes(from + channel * p.channel_step, p.channel_step, column_step, p.channels - channel, columns, to + channel, p.depth);
}

static WORKBENCH_INLINE void no_places(float* to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; i += lanes) store_floats(to + i, all(0.f));
}

// The same rows, turned as one: where a row is too short for that.
static WORKBENCH_INLINE PlaneOf turned(const PlaneOf& p) {
    const std::int64_t begin = p.first_row < 0 ? 0 : p.first_row, last = p.first_row + p.rows, end = last < p.height ? last : p.height;
    if (begin < end) row_to_plane(p.image + begin * p.row_step, p, 1, (end - begin) * p.width, p.room + begin * p.width * p.depth);
    PlaneOf turned = p;
    turned.image = p.room, turned.channel_step = 1, turned.column_step = p.depth, turned.row_step = p.width * p.depth;
    return turned;
}

static void to_plane(const PlaneOf& given) {
    const bool narrow = given.width < 8 && given.column_step == 1 && given.row_step == given.width && given.channel_step != 1;
    const PlaneOf p = narrow ? turned(given) : given;
    for (std::int64_t row = 0; row < p.rows; ++row) {
        float* to = p.plane + row * p.columns * p.depth;
        const std::int64_t at = p.first_row + row;
        if (at < 0 || at >= p.height) {
            no_places(to, p.columns * p.depth);
            continue;
        }
        std::int64_t begin = p.first_column < 0 ? -p.first_column : 0, end = p.width - p.first_column;
        begin = begin < p.columns ? begin : p.columns;
        end = end > p.columns ? p.columns : end < begin ? begin : end;
        no_places(to, begin * p.depth);
        if (begin < end) row_to_plane(p.image + at * p.row_step + (p.first_column + begin) * p.column_step, p, p.column_step, end - begin, to + begin * p.depth);
        no_places(to + end * p.depth, (p.columns - end) * p.depth);
    }
}
