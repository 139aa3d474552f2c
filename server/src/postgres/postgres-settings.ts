/** The embedded PostgreSQL's settings, passed on its command line and in its environment: a newer program's changes apply from its next start. */

import { rulesPath } from "./postgres-password.ts";

/** Each with the reason, if unusual. */
const SETTINGS: Record<string, string> = {
  // Reachable only through the socket in a private folder, with the password (postgres-password.ts).
  listen_addresses: "",
  unix_socket_permissions: "0700",
  port: "5432",
  cluster_name: "autograph",

  // Few and small: a backend costs about 5 MB. 10 for the pools, 3 dedicated, the rest for the command line.
  max_connections: "32",
  shared_buffers: "64MB",
  work_mem: "4MB",
  maintenance_work_mem: "32MB",
  huge_pages: "off",
  // A list over 24 months of partitions with their indexes takes 170 locks.
  max_locks_per_transaction: "128",

  // Without processes that nothing here needs.
  max_worker_processes: "1",
  max_parallel_workers: "0",
  max_parallel_workers_per_gather: "0",
  max_parallel_maintenance_workers: "0",
  max_logical_replication_workers: "0",
  autovacuum_worker_slots: "2",
  autovacuum_max_workers: "2",
  io_method: "sync",
  jit: "off",

  // An acknowledged run survives power loss.
  fsync: "on",
  full_page_writes: "on",
  synchronous_commit: "on",
  // Nothing replicates from it, so it writes less.
  wal_level: "minimal",
  max_wal_senders: "0",
  min_wal_size: "96MB",
  max_wal_size: "512MB",
  checkpoint_timeout: "15min",
  random_page_cost: "1.1",

  // Its log goes to a file, without statements, values or keys.
  logging_collector: "off",
  log_destination: "stderr",
  log_line_prefix: "%m ",
  log_min_messages: "log",
  log_min_error_statement: "panic",
  log_error_verbosity: "terse",
  log_checkpoints: "off",
  lc_messages: "C",
  log_timezone: "UTC",
  timezone: "UTC",
};

const MB = 1024 * 1024;

/**
 * glibc's settings for its heap (docs/decisions/0033). By default a backend gives its heap back after a statement that took more than
 * 128 kB and faults it in again for the next: a hundred page faults for 1 MB. With these it keeps 16 MB at most. PostgreSQL's own blocks have 8 MB at most, so none of them is
 * mapped by itself.
 */
export const MEMORY_ENVIRONMENT: Record<string, string> = {
  MALLOC_TRIM_THRESHOLD_: String(16 * MB),
  MALLOC_MMAP_THRESHOLD_: String(32 * MB),
  MALLOC_TOP_PAD_: String(MB),
};

type Folders = { cluster: string; folder: string };

/** The arguments of `postgres`. */
export const postgresArguments = ({ cluster, folder }: Folders, socketFolder: string): string[] => [
  "-D",
  cluster,
  "-c",
  `hba_file=${rulesPath(folder)}`,
  "-k",
  socketFolder,
  ...Object.entries(SETTINGS).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
];
