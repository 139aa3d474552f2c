/** What a test measures of its own process: its heap, its processor time, or how long its main thread was kept. */
export const MEASURES =
  /\b(memoryUsage|cpuUsage|threadCpuUsage|getHeapStatistics|setFlagsFromString|eventLoopUtilization|monitorEventLoopDelay|processor-time\.testsuite)\b/;
