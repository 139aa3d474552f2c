/** JSON lines on stderr, readable lines on a terminal. Credentials are cut by name and by shape before they are written. */
import { pino, type Logger } from "pino";

export type Log = Pick<Logger, "debug" | "info" | "warn" | "error"> & { child(bindings: Record<string, unknown>): Log };

const SECRET_NAMES = [
  "password",
  "accessToken",
  "refreshToken",
  "secret",
  "authorization",
  "token",
  "apiKey",
  "cookie",
];
const SECRET_SHAPES =
  /ag_live_[\w-]+|Bearer\s+[\w.~+/-]+=*|eyJ[\w-]+\.[\w-]+\.[\w-]+|rt_[\w.-]{20,}|(?<=\/webhook\/[\w-]+\/)[\w-]+/g;

export const redact = (text: string): string => text.replace(SECRET_SHAPES, "[redacted]");

const clock = (time: number): string => new Date(time).toISOString().slice(11, 23);

/** One line for people: `12:00:01.250 info  text key=value`. */
function readable(line: string): string {
  const { level, time, msg, pid: _pid, hostname: _hostname, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const name =
    ({ 20: "debug", 30: "info ", 40: "warn ", 50: "error" } as Record<number, string>)[level as number] ?? "     ";
  const extra = Object.entries(rest).map(
    ([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return `${clock(time as number)} ${name} ${[msg, ...extra].join(" ")}\n`;
}

export function createLog(level: string, out: NodeJS.WriteStream = process.stderr): Log {
  const write = (line: string): void => {
    const safe = redact(line);
    out.write(out.isTTY ? readable(safe) : safe);
  };
  const paths = SECRET_NAMES.flatMap((name) => [name, `*.${name}`]);
  return pino({ level, base: null, redact: { paths, censor: "[redacted]" } }, { write });
}
