/* A call of the stencil compiler's kernel in the place of annotated loops; words such as @type are the call's own. */

//: head
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef _OPENMP
#include <omp.h>
#endif
static void *tw_memory(size_t bytes) {
  const size_t unit = bytes < 2097152 ? 4096 : 2097152;
  void *start = aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
#ifdef MADV_HUGEPAGE
  if (start && unit > 4096) madvise(start, (bytes + unit - 1) / unit * unit, MADV_HUGEPAGE);
#endif
  return start;
}
//: whole
  {
    const int64_t tw_steps = @steps > 0 ? @steps : 0, tw_cells = @cells;
    int64_t tw_threads = 1;
#ifdef _OPENMP
    tw_threads = omp_get_max_threads();
#endif
    @type *tw_field[@places], *tw_state = 0, *tw_next;
    char *tw_scratch = 0;
    if (@fits) {
      tw_state = (@type *)tw_memory((@room) * sizeof(@type));
      tw_scratch = (char *)tw_memory(@scratch * (size_t)tw_threads);
    }
    if (tw_state && tw_scratch) {
      tw_next = tw_state;
      const @type *tw_constant[@pointers];
@rows      tw_constant[@constants] = (@type *)tw_scratch;
      const @type tw_scalar[] = {@scalars};
@call@mirrors    } else {
@old    }
    free(tw_scratch);
    free(tw_state);
  }
//: row
      for (int tw_c = 0; tw_c < @extent; tw_c++) tw_next[tw_c] = @value;
      tw_constant[@place] = tw_next;
      tw_next += @extent;
//: field
      tw_field[@place] = @start;
//: next
      tw_next += @count;
//: versions
      for (int tw_v = 0; tw_v < @count; tw_v++) memcpy(tw_next + tw_v * @slot, @array, (size_t)tw_cells * sizeof(@type));
//: run
      const int64_t tw_size[] = {tw_steps, tw_threads, @numbers};
      @entry((@type *const *)tw_field, tw_size, tw_scalar, (@type *const *)tw_constant);
//: newest
      memcpy(@array, tw_field[@place] + tw_steps % @count * @slot, (size_t)tw_cells * sizeof(@type));
//: written
      if (tw_steps <= @time) memcpy(@array, tw_field[@place], (size_t)tw_cells * sizeof(@type));
//: mirror
      @loops ((@type *)@target)[@at] = ((@type *)@source)[@at];
