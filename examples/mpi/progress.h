/* Read before the emitted C (-include progress.h): between two kernels MPI goes on with what the last part has added.
 */
#ifndef MPI_EXAMPLE_PROGRESS_H
#define MPI_EXAMPLE_PROGRESS_H

void mpi_progress(void); /* in train.c, and in time.c */

#define STEPC_TRACE(number, name) mpi_progress()

#endif
