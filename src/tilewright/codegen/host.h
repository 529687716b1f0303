/* The parts of a host program that are constant; words such as @cases stand for what is a program's own. */

//: cuda
static real *fields[FIELDS]@table;

static void set_up(void) {
  for (int i = 0; i < FIELDS; ++i) TW_CUDA(cudaMalloc((void **)&fields[i], COPIES[i] * SLOT * sizeof(real)));
@more}
static void upload(int field, int64_t at, const real *values) {
  TW_CUDA(cudaMemcpy(fields[field] + at, values, CELLS * sizeof *values, cudaMemcpyHostToDevice));
}
static void download(int field, int64_t at, real *values) {
  TW_CUDA(cudaMemcpy(values, fields[field] + at, CELLS * sizeof *values, cudaMemcpyDeviceToHost));
}
static void launch(const int *each) {
  switch (each[0]) {
@cases
  }
  TW_CUDA(cudaGetLastError());
}
//: opencl
static cl_mem fields[FIELDS]@table;
static cl_kernel kernels[KERNELS];
static cl_command_queue queue;

static cl_mem room_for(struct tw_device device, int64_t count) {
  cl_int error;
  cl_mem memory = clCreateBuffer(device.context, CL_MEM_READ_WRITE, count * sizeof(real), NULL, &error);
  TW_OPENCL(error);
  return memory;
}
static void set_up(void) {
  static char text[TEXT + 1];
  struct tw_device device = tw_open(0, 0);
  FILE *file = fopen(@file, "rb");
  cl_int error;
  if (!file || fread(text, 1, TEXT, file) != TEXT) { fprintf(stderr, "cannot read %s\n", @file); exit(1); }
  fclose(file);
  cl_program program = tw_build(device, text, @options);
  for (int i = 0; i < KERNELS; ++i) { kernels[i] = clCreateKernel(program, ENTRIES[i], &error); TW_OPENCL(error); }
  queue = clCreateCommandQueue(device.context, device.id, 0, &error);
  TW_OPENCL(error);
  for (int i = 0; i < FIELDS; ++i) fields[i] = room_for(device, COPIES[i] * SLOT);
@more}
static void upload(int field, int64_t at, const real *values) {
  TW_OPENCL(clEnqueueWriteBuffer(
    queue, fields[field], CL_TRUE, at * sizeof(real), CELLS * sizeof *values, (void *)values, 0, NULL, NULL));
}
static void download(int field, int64_t at, real *values) {
  TW_OPENCL(clEnqueueReadBuffer(
    queue, fields[field], CL_TRUE, at * sizeof(real), CELLS * sizeof *values, values, 0, NULL, NULL));
}
static void argument(cl_kernel kernel, cl_uint *place, size_t size, const void *value) {
  TW_OPENCL(clSetKernelArg(kernel, (*place)++, size, value));
}
static void launch(const int *each) {
  cl_kernel kernel = kernels[each[0]];
  cl_uint place = 0;
  const size_t threads = THREADS[each[0]], all = each[1] * threads;
@arguments
  if (ROOM[each[0]]) argument(kernel, &place, ROOM[each[0]], NULL);
  TW_OPENCL(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &all, &threads, 0, NULL, NULL));
}
//: main
/* The cell of the grid that a place in memory holds: of periodic copies the one that is copied. */
static int64_t cell_at(int64_t place, int *proper) {
  int64_t at[RANK], cell = 0;
  for (int axis = RANK - 1; axis >= 0; --axis) { at[axis] = place % WHOLE[axis] - BELOW[axis]; place /= WHOLE[axis]; }
  *proper = 1;
  for (int axis = 0; axis < RANK; ++axis) {
    if (at[axis] < 0 || at[axis] >= SHAPE[axis]) *proper = 0;
    cell = cell * SHAPE[axis] + (at[axis] % SHAPE[axis] + SHAPE[axis]) % SHAPE[axis];
  }
  return cell;
}

int main(int argc, char **argv) {
  int proper;
  real *values = (real *)malloc(CELLS * sizeof *values);
  FILE *file = argc > 1 ? fopen(argv[1], "wb") : NULL;
  if (!values || (argc > 1 && !file)) { fprintf(stderr, "no memory, or no file to write\n"); return 1; }
  set_up();
  for (int field = 0; field < FIELDS; ++field) {
    for (int64_t i = 0; i < CELLS; ++i) values[i] = (real)((cell_at(i, &proper) * 7 + field) % 11) / SCALE;
    for (int slot = 0; slot < COPIES[field]; ++slot) upload(field, slot * SLOT, values);
  }
  for (int turn = 0; turn < TURNS; ++turn)
    for (int i = 0; i < REPEATED; ++i) launch(LAUNCHES[i]);
  for (int i = REPEATED; i < REPEATED + REST; ++i) launch(LAUNCHES[i]);
  for (int field = 0; field < FIELDS; ++field) {
    double sum = 0;
    if (!UPDATED[field]) continue;
    download(field, NEWEST % COPIES[field] * SLOT, values);
    for (int64_t i = 0; i < CELLS; ++i) {
      cell_at(i, &proper);
      if (proper) sum += (double)values[i];
      if (proper && file) fwrite(&values[i], sizeof values[i], 1, file);
    }
    printf("%s after %d steps: mean %.9g\n", NAMES[field], STEPS, sum / GRID);
  }
  if (file) fclose(file);
  free(values);
  return 0;
}
