/** What a test needs a process of its own for: it measures its heap, whose garbage may be another file's, or changes what others would find. */
export const ALONE = /\b(memoryUsage|getHeapStatistics|setFlagsFromString|resetModules)\b/;

/** What a test measures of its own process: its heap, its processor time, or how long its main thread was kept. */
export const MEASURES =
  /\b(memoryUsage|cpuUsage|threadCpuUsage|getHeapStatistics|setFlagsFromString|eventLoopUtilization|monitorEventLoopDelay|processor-time\.testsuite)\b/;
