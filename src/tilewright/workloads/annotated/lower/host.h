/* What hosts of device programs do, in the words of both run-time libraries; @array and the like are a program's. */

//: bounds
{
  const @ctype tw_first = @first;
  const @ctype tw_last = @last;
  if (tw_first @compare tw_last) {
//: pieces
for (int tw_s = 0; tw_s < @count; tw_s++) {
  const @ctype tw_size = (tw_last - tw_first + @count) / @count;
  const @ctype tw_a = tw_first + tw_s * tw_size;
  const @ctype tw_b = tw_a + tw_size - 1 < tw_last ? tw_a + tw_size - 1 : tw_last;
  if (tw_a > tw_last) break;
//: piece
{
  long tw_from = tw_s == 0 ? (long)tw_a - @low : tw_a;
  long tw_to = tw_b == tw_last ? (long)tw_b + @high : tw_b;
  if (tw_from < 0) tw_from = 0;
  if (tw_to > @size - 1) tw_to = @size - 1;
  if (tw_from <= tw_to) @copy
}
//: cuda declare
@type *dev_@array;
//: cuda memory
TW_CUDA(cudaMalloc((void **)&dev_@array, @bytes));
//: cuda pin
TW_CUDA(cudaHostRegister((void *)@array, @bytes, cudaHostRegisterDefault));
//: cuda prefer
TW_CUDA(cudaDeviceSetCacheConfig(cudaFuncCachePrefer@kind));
//: cuda in
TW_CUDA(cudaMemcpy(dev_@array, @array, @bytes, cudaMemcpyHostToDevice));
//: cuda partial
@type *tw_part_@scalar;
TW_CUDA(cudaMalloc((void **)&tw_part_@scalar, @blocks * sizeof(@type)));
//: cuda start
@kernel<<<@grid>>>(@arguments);
TW_CUDA(cudaGetLastError());
//: cuda total
TW_CUDA(cudaMemcpy(&@scalar, tw_part_@scalar, sizeof(@type), cudaMemcpyDeviceToHost));
TW_CUDA(cudaFree(tw_part_@scalar));
//: cuda streams
cudaStream_t tw_stream[@count];
cudaEvent_t tw_event[@count];
for (int tw_s = 0; tw_s < @count; tw_s++) { TW_CUDA(cudaStreamCreate(&tw_stream[tw_s])); TW_CUDA(cudaEventCreate(&tw_event[tw_s])); }
//: cuda piece in
TW_CUDA(cudaMemcpyAsync(dev_@array + tw_from, @array + tw_from, (size_t)(tw_to - tw_from + 1) * sizeof(@type), cudaMemcpyHostToDevice, tw_stream[tw_s]));
//: cuda copied
TW_CUDA(cudaEventRecord(tw_event[tw_s], tw_stream[tw_s]));
//: cuda halos copied
for (int tw_n = 0; tw_n < @count; tw_n++) TW_CUDA(cudaStreamWaitEvent(tw_stream[tw_s], tw_event[tw_n], 0));
//: cuda piece out
TW_CUDA(cudaMemcpyAsync(@array + tw_from, dev_@array + tw_from, (size_t)(tw_to - tw_from + 1) * sizeof(@type), cudaMemcpyDeviceToHost, tw_stream[tw_s]));
//: cuda streams done
TW_CUDA(cudaDeviceSynchronize());
for (int tw_s = 0; tw_s < @count; tw_s++) { TW_CUDA(cudaStreamDestroy(tw_stream[tw_s])); TW_CUDA(cudaEventDestroy(tw_event[tw_s])); }
//: cuda out
TW_CUDA(cudaMemcpy((void *)@array, dev_@array, @bytes, cudaMemcpyDeviceToHost));
//: cuda unpin
TW_CUDA(cudaHostUnregister((void *)@array));
//: cuda wait
TW_CUDA(cudaDeviceSynchronize());
//: cuda free
TW_CUDA(cudaFree(dev_@array));
//: opencl open
cl_int tw_error;
struct tw_device tw_dev = tw_open(@platform, @device);
cl_command_queue tw_queue[@count];
for (int tw_q = 0; tw_q < @count; tw_q++) {
  tw_queue[tw_q] = clCreateCommandQueue(tw_dev.context, tw_dev.id, 0, &tw_error);
  TW_OPENCL(tw_error);
}
if (@text_program == NULL) @text_program = tw_build(tw_dev, @text, "@flags");
//: opencl memory
cl_mem dev_@array = clCreateBuffer(tw_dev.context, CL_MEM_READ_WRITE, @bytes, NULL, &tw_error);
TW_OPENCL(tw_error);
//: opencl kernel
cl_kernel @kernel = clCreateKernel(@text_program, "@kernel", &tw_error);
TW_OPENCL(tw_error);
//: opencl in
TW_OPENCL(clEnqueueWriteBuffer(tw_queue[0], dev_@array, CL_TRUE, 0, @bytes, (void *)@array, 0, NULL, NULL));
//: opencl partial
cl_mem tw_part_@scalar = clCreateBuffer(tw_dev.context, CL_MEM_READ_WRITE, @blocks * sizeof(@type), NULL, &tw_error);
TW_OPENCL(tw_error);
//: opencl value
{ @ctype tw_x = @value; TW_OPENCL(clSetKernelArg(@kernel, @place, sizeof tw_x, &tw_x)); }
//: opencl variable
TW_OPENCL(clSetKernelArg(@kernel, @place, sizeof @value, &@value));
//: opencl start
{ size_t tw_global = (size_t)@blocks * @threads, tw_local = @threads;
  TW_OPENCL(clEnqueueNDRangeKernel(tw_queue[@queue], @kernel, 1, NULL, &tw_global, &tw_local, 
    0, NULL, NULL)); }
//: opencl total
TW_OPENCL(clEnqueueReadBuffer(tw_queue[0], tw_part_@scalar, CL_TRUE, 0, sizeof @scalar, &@scalar, 0, NULL, NULL));
TW_OPENCL(clReleaseMemObject(tw_part_@scalar));
//: opencl piece in
TW_OPENCL(clEnqueueWriteBuffer(tw_queue[tw_s], dev_@array, CL_FALSE, (size_t)tw_from * sizeof(@type), (size_t)(tw_to - tw_from + 1) * sizeof(@type), (void *)(@array + tw_from), 0, NULL, NULL));
//: opencl all copied
for (int tw_q = 0; tw_q < @count; tw_q++) TW_OPENCL(clFinish(tw_queue[tw_q]));
//: opencl piece out
TW_OPENCL(clEnqueueReadBuffer(tw_queue[tw_s], dev_@array, CL_FALSE, (size_t)tw_from * sizeof(@type), (size_t)(tw_to - tw_from + 1) * sizeof(@type), (void *)(@array + tw_from), 0, NULL, NULL));
//: opencl streams done
for (int tw_q = 0; tw_q < @count; tw_q++) TW_OPENCL(clFinish(tw_queue[tw_q]));
//: opencl out
TW_OPENCL(clEnqueueReadBuffer(tw_queue[0], dev_@array, CL_TRUE, 0, @bytes, (void *)@array, 0, NULL, NULL));
//: opencl release
TW_OPENCL(clReleaseKernel(@kernel));
//: opencl free
TW_OPENCL(clReleaseMemObject(dev_@array));
//: opencl close
for (int tw_q = 0; tw_q < @count; tw_q++) TW_OPENCL(clReleaseCommandQueue(tw_queue[tw_q]));
