# fail_cuda_calls(TARGET): these calls of the CUDA runtime go to gpu_faults_test.cpp.
function(fail_cuda_calls target)
  foreach(call IN ITEMS Malloc HostRegister StreamCreateWithFlags StreamSynchronize EventCreate EventRecord
          EventSynchronize StreamWaitEvent Memcpy MemcpyAsync MemsetAsync LaunchKernelExC FuncSetAttribute MemGetInfo
          SetDevice GetDevice DeviceGetAttribute GetDeviceProperties FuncGetAttributes OccupancyMaxPotentialClusterSize
          OccupancyMaxActiveBlocksPerMultiprocessor)
    target_link_options(${target} PRIVATE LINKER:--wrap=cuda${call})
  endforeach()
endfunction()
