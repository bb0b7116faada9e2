/* SPDX-License-Identifier: 0BSD */
/* What stepc_window_phases.h says, for elements of the type STEPC_T. */

static STEPC_INLINE void STEPC_OF(pack_phases)(const int rows, const int channels, const int taps,
                                               STEPC_T *restrict to, const STEPC_T *restrict w,
                                               const int32_t *restrict order)
{
    const int tile = STEPC_WINDOW_ROWS(rows);
    for (int first = 0; first < rows; first += tile) {
        for (int k = 0; k < channels; k++) {
            for (int t = 0; t < taps; t++) {
                for (int r = first; r < first + tile && r < rows; r++)
                    to[first * (channels * taps) + (k * taps + t) * tile + r - first] =
                        w[(k * rows + r) * taps + order[t]];
            }
        }
    }
}

static STEPC_INLINE void STEPC_OF(merge_line)(const int windows, const int phases, const int late,
                                              STEPC_T *restrict to, const STEPC_T *restrict from, const int step)
{
    STEPC_LANE_LOOP
    for (int j = 0; j < windows; j++) {
        STEPC_UNROLL
        for (int c = 0; c < phases; c++)
            to[(j + (c < late)) * phases + c] = from[c * step + j];
    }
}

static STEPC_INLINE void STEPC_OF(merge_short_line)(const int columns, const int phases, const int late, const int low,
                                                    STEPC_T *restrict to, const STEPC_T *restrict from, const int step)
{
    STEPC_UNROLL
    for (int x = 0; x < columns; x++) {
        const int phase = (x + low) % phases;
        to[x] = from[phase * step + (x + low) / phases - (phase < late)];
    }
}
