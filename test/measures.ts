/** Reasons for a test to need a process of its own: it measures its heap, whose garbage may be another file's, or changes what others would find. */
export const ALONE = /\b(memoryUsage|getHeapStatistics|setFlagsFromString|resetModules)\b/;

/** Measures of a test's own process: its heap, its processor time, or how long its main thread was kept. */
export const MEASURES =
  /\b(memoryUsage|cpuUsage|threadCpuUsage|getHeapStatistics|setFlagsFromString|eventLoopUtilization|monitorEventLoopDelay|processor-time\.testsuite)\b/;
