/** Errors in PostgreSQL or on the way to it. SQLSTATE codes: PostgreSQL manual, appendix A. */

const UNAVAILABLE_STATES = new Set([
  "25006", // read_only_sql_transaction: connected to a standby
  "25P03", // idle_in_transaction_session_timeout: this process stood still in a transaction
  "57014", // query_canceled: our statement_timeout
  "57P01", // admin_shutdown
  "57P02", // crash_shutdown
  "57P03", // cannot_connect_now: starting up or shutting down
  "57P05", // idle_session_timeout
  "58030", // io_error
  "55P03", // lock_not_available: our lock_timeout
]);
const UNAVAILABLE_CLASSES = new Set(["08", "53"]); // connection exceptions; disk full, out of memory, too many connections
const UNAVAILABLE_SYSTEM = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ENOENT", // the socket of a PostgreSQL that is not running
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
]);
/** node-postgres and its pool give these errors no code. */
const UNAVAILABLE_TEXT =
  /^(Connection terminated|Client has encountered a connection error|Client was closed|timeout exceeded when trying to connect|timeout expired|Cannot use a pool after calling end|Query read timeout)/;

/** The SQLSTATE or system error code that an error carries. */
export function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" ? code : undefined;
}

/**
 * True if the database can't serve for now (connection lost, shutting down, disk or connections used up), which is not
 * our bug: the edge answers UNAVAILABLE. Whether the statement took effect is unknown.
 */
export function isUnavailable(error: unknown): boolean {
  const code = codeOf(error);
  if (code !== undefined) {
    return UNAVAILABLE_STATES.has(code) || UNAVAILABLE_CLASSES.has(code.slice(0, 2)) || UNAVAILABLE_SYSTEM.has(code);
  }
  return error instanceof Error && UNAVAILABLE_TEXT.test(error.message);
}

/** deadlock_detected or serialization_failure: nothing happened, and the same statement may succeed now. */
export const isDeadlock = (error: unknown): boolean => ["40P01", "40001"].includes(codeOf(error) ?? "");

/** A unique index refused the row; pass a name to mean only that index. */
export const isDuplicate = (error: unknown, constraint?: string): boolean =>
  codeOf(error) === "23505" &&
  (constraint === undefined || (error as { constraint?: string }).constraint === constraint);

/** The row belongs to another partition than the one that the statement names. PostgreSQL gives a CHECK the same code, and a name. */
export const isOtherPartition = (error: unknown): boolean =>
  codeOf(error) === "23514" && (error as { constraint?: string }).constraint === undefined;
