/* SPDX-License-Identifier: 0BSD */
/* What fails on a rank, and how all others learn of it. */
#include "stepc_mpi_internal.h"

#include <stdio.h>
#include <string.h>

stepc_status stepc_mpi_fail(stepc_mpi *m, stepc_status status, const char *what, const char *name, const char *more)
{
    if (m->message[0] == '\0')
        snprintf(m->message, sizeof m->message, "%s%s%s", what, name, more);
    return status;
}

/* The first failure of MPI is kept; nothing is of use after it. */
int stepc_mpi_ok(stepc_mpi *m, const char *call, int result)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (result == MPI_SUCCESS)
        return 1;
    MPI_Error_string(result, text, &length);
    m->is_broken = 1;
    m->status = stepc_mpi_fail(m, STEPC_E_IO, call, ": ", text);
    return 0;
}

stepc_status stepc_mpi_agree(stepc_mpi *m, stepc_status status)
{
    int own[2] = {(int)status, m->rank}, worst[2];
    char text[sizeof m->message];
    if (!OK(m, MPI_Allreduce, own, worst, 1, MPI_2INT, MPI_MAXLOC, m->comm))
        return m->status;
    if (worst[0] == STEPC_OK)
        return STEPC_OK;
    snprintf(text, sizeof text, "rank %d: %.380s", m->rank, m->message);
    if (!OK(m, MPI_Bcast, text, (int)sizeof text, MPI_CHAR, worst[1], m->comm))
        return m->status;
    return status != STEPC_OK ? status : stepc_mpi_fail(m, (stepc_status)worst[0], text, "", "");
}

stepc_status stepc_mpi_tell(stepc_mpi *m)
{
    const stepc_status status = (stepc_status)m->worst[0];
    char text[sizeof m->message];
    if (m->rank == m->worst[1]) {
        snprintf(text, sizeof text, "rank %d, %s %d: %.300s", m->rank, m->failed_what, m->failed_part,
                 m->message[0] != '\0' ? m->message : stepc_status_text(status));
        memcpy(m->message, text, sizeof text);
    }
    return stepc_mpi_hand_out(m, (unsigned char *)m->message, sizeof m->message, m->worst[1]) ? status : m->status;
}
