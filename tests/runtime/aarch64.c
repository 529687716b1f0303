/* Calls a kernel on memory that is read from a file, and writes the memory back: see test_aarch64.py. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void KERNEL(void *const *field, const int64_t *size, const void *scalar, const void *const *constant);

enum { MOST = 64, PAGE = 4096, GUARD = 4096 };

static void take(FILE *file, void *to, size_t bytes) {
  if (fread(to, 1, bytes, file) != bytes) exit(2);
}

static char *room(size_t bytes) {
  char *memory = aligned_alloc(PAGE, (bytes / PAGE + 1) * PAGE + 2 * GUARD);
  if (!memory) exit(3);
  return memory + GUARD;
}

int main(int count, char **name) {
  FILE *file = count == 3 ? fopen(name[1], "rb") : NULL;
  if (!file) return 1;
  int64_t head[5], size[MOST], offset[MOST], rows;
  take(file, head, sizeof head); /* bytes of memory, fields, sizes, bytes of scalars, constants */
  take(file, offset, sizeof *offset * (size_t)head[1]);
  take(file, size, sizeof *size * (size_t)head[2]);
  char *scalar = room((size_t)head[3]), *memory = room((size_t)head[0]);
  take(file, scalar, (size_t)head[3]);
  void *field[MOST];
  const void *constant[MOST];
  for (int64_t i = 0; i < head[1]; ++i) field[i] = memory + offset[i];
  for (int64_t i = 0; i < head[4]; ++i) { /* rows of values, or what lies in the memory */
    take(file, &rows, sizeof rows);
    if (rows < 0) constant[i] = memory - rows;
    else take(file, (void *)(constant[i] = room((size_t)rows)), (size_t)rows);
  }
  take(file, memory, (size_t)head[0]);
  fclose(file);
  KERNEL(field, size, scalar, constant);
  file = fopen(name[2], "wb");
  return !file || fwrite(memory, 1, (size_t)head[0], file) != (size_t)head[0] || fclose(file);
}
