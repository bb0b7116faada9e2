/* SPDX-License-Identifier: 0BSD */
/* What stepc_sum.h says, for elements of the type STEPC_T. */

static STEPC_INLINE STEPC_T STEPC_OF(fold16)(STEPC_T *restrict part)
{
    for (int l = 0; l < 8; l++)
        part[l] += part[l + 8];
    for (int l = 0; l < 4; l++)
        part[l] += part[l + 4];
    for (int l = 0; l < 2; l++)
        part[l] += part[l + 2];
    return part[0] + part[1];
}

static STEPC_INLINE STEPC_T STEPC_OF(sum16)(const STEPC_T *restrict x, const int count)
{
    STEPC_T part[16] = {0};
    for (int i = 0; i < count - count % 16; i += 16)
        for (int l = 0; l < 16; l++)
            part[l] += x[i + l];
    for (int l = 0; l < count % 16; l++)
        part[l] += x[count - count % 16 + l];
    return STEPC_OF(fold16)(part);
}
