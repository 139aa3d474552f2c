/** The only reader of the environment. A test compares docs/configuration.md with `SETTINGS`. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseEnv } from "node:util";
import { isAddressRange } from "./lib/address-ranges.ts";
import { parseMailbox, type Mailbox } from "./lib/mail/email-address.ts";
import { messageOf, OperatorError } from "./lib/errors.ts";
import { LIMITS } from "./lib/limits.ts";
import { keyHeaderProblem } from "./lib/reserved-headers.ts";
import { isLoopback } from "./lib/loopback.ts";
import { parseAllowedCommand, type AllowedCommand } from "./lib/mcp/allowed-commands.ts";
import { parseSecretKey } from "./lib/secret-key.ts";
import { parseSmtpUrl, type SmtpServer } from "./lib/mail/smtp-server.ts";
import { withoutLast } from "./lib/text.ts";

export type Environment = Record<string, string | undefined>;

/** Throws a Mistake that reads on from the setting's name: "must be …". */
type Reader<Value> = (text: string, cwd: string) => Value;
class Mistake extends Error {}

type Setting<Value> = {
  read: Reader<Value>;
  /** As written in the environment; none: the setting is off if missing. */
  standard?: string;
  meaning: string;
};
const setting = <Value>(standard: string, meaning: string, read: Reader<Value>): Setting<Value> => ({
  read,
  standard,
  meaning,
});
const optional = <Value>(meaning: string, read: Reader<Value>): Setting<Value | undefined> => ({ read, meaning });

const text: Reader<string> = (value) => value;

const port: Reader<number> = (value) => {
  if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535) throw new Mistake("must be a port number from 0 to 65535");
  return Number(value);
};

const oneOf =
  <Choice extends string>(...choices: Choice[]): Reader<Choice> =>
  (value) => {
    if (!choices.includes(value as Choice)) throw new Mistake(`must be one of ${choices.join(", ")}`);
    return value as Choice;
  };

const list =
  (isValid: (item: string) => boolean, what: string): Reader<string[]> =>
  (value) => {
    const items = value.split(",").flatMap((item) => item.trim() || []);
    const wrong = items.find((item) => !isValid(item));
    if (wrong !== undefined) throw new Mistake(`must be ${what}, separated by commas; "${wrong}" is not`);
    return items;
  };

const urlOf = (value: string): URL | undefined => (URL.canParse(value) ? new URL(value) : undefined);

/** Kept without a slash at the end, so that paths can be appended. */
const publicUrl: Reader<string> = (value) => {
  const url = urlOf(value);
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username || url.password) {
    throw new Mistake("must be an http or https URL without query, fragment and user, like https://agents.example.org");
  }
  return withoutLast(`${url.origin}${url.pathname}`, "/");
};

const databaseUrl: Reader<string> = (value) => {
  const protocol = urlOf(value)?.protocol;
  if (protocol === "postgres:" || protocol === "postgresql:") return value;
  throw new Mistake("must be a URL like postgres://user:password@host:5432/database");
};

const llmUrl: Reader<string> = (value) => {
  const url = urlOf(value);
  if (!url || !/^https?:$/.test(url.protocol) || url.hash || url.username || url.password)
    throw new Mistake("must be the URL of an OpenAI-compatible API, like https://api.example.com/v1");
  const { origin, pathname, search } = url;
  return withoutLast(`${origin}${pathname}`, "/") + search;
};

/** Goes into a header. */
const llmKey: Reader<string> = (value) => {
  if (!/^[\x21-\x7e]+$/.test(value)) throw new Mistake("must be letters, digits and signs without spaces");
  return value;
};

const llmKeyHeader: Reader<string> = (value) => {
  const problem = keyHeaderProblem(value);
  if (problem) throw new Mistake(problem.message);
  return value;
};

const PRICES = /^(\d+(?:\.\d+)?),(\d+(?:\.\d+)?)(?:,(\d+(?:\.\d+)?))?(?:,([A-Z]{3}))?$/;

const llmPrices: Reader<LlmPrices> = (value) => {
  const [, input, output, cached, currency = "USD"] = PRICES.exec(value.replaceAll(" ", "")) ?? [];
  const [inputPerMillion, outputPerMillion] = [Number(input), Number(output)];
  const cachedInputPerMillion = cached === undefined ? null : Number(cached);
  // The negation holds also where it is no number.
  if (!(Math.max(inputPerMillion, outputPerMillion, cachedInputPerMillion ?? 0) <= LIMITS.modelPricePerMillion))
    throw new Mistake(
      `must be prices of a million tokens in and out, of 0 to ${LIMITS.modelPricePerMillion}, like 0.15,0.60 or 0.15,0.60,0.075,EUR`,
    );
  return { inputPerMillion, outputPerMillion, cachedInputPerMillion, currency };
};

const smtpUrl: Reader<SmtpServer> = (value) => {
  const server = parseSmtpUrl(value);
  if (typeof server === "string") throw new Mistake(server);
  return server;
};

const mailFrom: Reader<Mailbox> = (value) => {
  const mailbox = parseMailbox(value);
  if (!mailbox) throw new Mistake("must be an address like agents@example.org or Autograph <agents@example.org>");
  return mailbox;
};

const isOrigin = (value: string): boolean => {
  const url = urlOf(value);
  return url !== undefined && /^https?:$/.test(url.protocol) && url.origin === value;
};

const password: Reader<string> = (value) => {
  const { passwordCharactersLeast: least, passwordCharactersMost: most } = LIMITS;
  if (value.length < least || value.length > most) throw new Mistake(`must have ${least} to ${most} characters`);
  return value;
};

const secretKey: Reader<Buffer> = (value) => {
  const key = parseSecretKey(value);
  if (!key) throw new Mistake("must be 32 bytes as 64 hex digits or as base64 (openssl rand -hex 32 makes one)");
  return key;
};

export const SETTINGS = {
  PORT: setting("4400", "Port of the server; 0 takes a free one.", port),
  HOST: setting("127.0.0.1", "Address to listen on. Any address other than a loopback one needs `PUBLIC_URL`.", text),
  PUBLIC_URL: optional(
    "How clients reach the server, like `https://agents.example.org/autograph`; may have a path. " +
      "Requests for another host name than its own or a loopback one are refused (421). Default: `http://<HOST>:<PORT>`.",
    publicUrl,
  ),
  DATA_DIR: setting(
    "./data",
    "Folder of the embedded database and its password, the secret key, the kept API key and the lock.",
    (value, cwd) => resolve(cwd, value),
  ),
  DATABASE_URL: optional("A PostgreSQL server (16 or newer) to use instead of the embedded one.", databaseUrl),
  DEFAULT_PLAN: setting(
    "enterprise",
    "Plan of a new organization: `free`, `starter`, `pro` or `enterprise`.",
    oneOf("free", "starter", "pro", "enterprise"),
  ),
  CORS_ORIGINS: setting(
    "",
    "Origins whose pages may call the API from a browser, like `https://app.example.org`, separated by commas. Default: none.",
    list(isOrigin, "origins like https://app.example.org"),
  ),
  TRUSTED_PROXIES: setting(
    "",
    "Addresses or CIDR ranges of proxies whose `X-Forwarded-For` is trusted, separated by commas. Default: none.",
    list(isAddressRange, "IP addresses or CIDR ranges"),
  ),
  OUTBOUND_ALLOW: setting(
    "",
    "Private addresses or CIDR ranges that steps may call, like `127.0.0.1/32`, separated by commas. Default: none.",
    list(isAddressRange, "IP addresses or CIDR ranges"),
  ),
  MCP_STDIO_ALLOW: setting(
    "",
    "Commands that definitions may start as MCP servers, like `TOKEN= /opt/search-mcp --read-only`, separated by commas. One without arguments may have any; names with `=` before it are variables that a definition may set. Default: none.",
    list(
      (item) => parseAllowedCommand(item) !== undefined,
      "commands like /opt/search-mcp or github-mcp-server stdio, each with a path from / or a name in PATH",
    ),
  ),
  LLM_BASE_URL: optional(
    "An OpenAI-compatible API, like `https://api.example.com/v1` or `http://127.0.0.1:11434/v1`. With it and `LLM_MODEL`, this model serves the projects that have no default model connection: their sentences, `call: llm` and `call: assistant`. Default: none.",
    llmUrl,
  ),
  LLM_MODEL: optional("The model's name there. See `LLM_BASE_URL`.", text),
  LLM_API_KEY: optional("The key for it, if it wants one. See `LLM_BASE_URL`.", llmKey),
  LLM_API_KEY_HEADER: optional(
    "The header that a gateway takes the key in, like `api-key`. Default: `Authorization`, as `Bearer`.",
    llmKeyHeader,
  ),
  LLM_PRICES: optional(
    "What a million of its tokens cost, as `in,out`, `in,out,cached` or with a currency, like `0.15,0.60,0.075,EUR`; without one in USD. See `LLM_BASE_URL`. Default: its costs are not known.",
    llmPrices,
  ),
  SMTP_URL: optional(
    "The server that mail goes out by, like `smtp://user:password@smtp.example.com` (port 587; STARTTLS must succeed, except on a loopback address) or `smtps://…` (TLS, port 465). `?tls=none` sends unencrypted, `?tls=required` wants STARTTLS on a loopback address too. Default: none, and no mail is sent.",
    smtpUrl,
  ),
  MAIL_FROM: optional(
    "The sender of all mail, like `Autograph <agents@example.org>`. With `SMTP_URL` it must be set.",
    mailFrom,
  ),
  METRICS_PORT: optional(
    "Another port, which serves `/metrics` without a credential; 0 takes a free one. Default: none, and `/metrics` needs a key.",
    port,
  ),
  METRICS_HOST: setting(
    "127.0.0.1",
    "Address that `METRICS_PORT` is opened on. Anyone who reaches it reads the figures.",
    text,
  ),
  LOG_LEVEL: setting("info", "`debug`, `info`, `warn` or `error`.", oneOf("debug", "info", "warn", "error")),
  ADMIN_EMAIL: optional("With `ADMIN_PASSWORD`: makes this owner on an empty database, without the setup page.", text),
  ADMIN_PASSWORD: optional("See `ADMIN_EMAIL`.", password),
  SECRET_KEY: optional(
    "32 bytes (64 hex digits or base64) that tokens are signed with. Default: made once, in `DATA_DIR/secret.key`.",
    secretKey,
  ),
};

type Values = { [Name in keyof typeof SETTINGS]: ReturnType<(typeof SETTINGS)[Name]["read"]> };
type OptionalName =
  | "PUBLIC_URL"
  | "DATABASE_URL"
  | "LLM_BASE_URL"
  | "LLM_MODEL"
  | "LLM_API_KEY"
  | "LLM_API_KEY_HEADER"
  | "LLM_PRICES"
  | "SMTP_URL"
  | "MAIL_FROM"
  | "METRICS_PORT"
  | "ADMIN_EMAIL"
  | "ADMIN_PASSWORD"
  | "SECRET_KEY";
type Read = Omit<Values, OptionalName> & { [Name in OptionalName]: Values[Name] | undefined };

type LlmPrices = {
  inputPerMillion: number;
  outputPerMillion: number;
  cachedInputPerMillion: number | null;
  currency: string;
};

/** The model that serves all projects. */
type OwnModel = {
  baseUrl: string;
  model: string;
  /** Undefined: the API wants none. */
  apiKey: string | undefined;
  apiKeyHeader: string | null;
  prices: LlmPrices | null;
};

export type Config = {
  port: number;
  host: string;
  /** Without a slash at the end. */
  publicUrl: string | undefined;
  /** Absolute. */
  dataFolder: string;
  databaseUrl: string | undefined;
  defaultPlan: "free" | "starter" | "pro" | "enterprise";
  corsOrigins: string[];
  trustedProxies: string[];
  outboundAllow: string[];
  /** `environment`: what every command gets of the server's own. */
  mcpStdio: { allowed: AllowedCommand[]; environment: Record<string, string> };
  llm: OwnModel | undefined;
  mail: { server: SmtpServer; from: Mailbox } | undefined;
  metrics: { port: number; host: string } | undefined;
  logLevel: "debug" | "info" | "warn" | "error";
  admin: { email: string; password: string } | undefined;
  /** 32 bytes. */
  secretKey: Buffer | undefined;
};

/**
 * `file`, by default `.env` in `cwd`, provides what the environment does not; an empty value counts as none.
 * Throws one OperatorError with a line for each mistake.
 */
export function readConfig(environment: Environment, cwd: string, file = readEnvFile(join(cwd, ".env"))): Config {
  const mistakes: string[] = [];
  const wrong = new Set<string>();
  const read = Object.fromEntries(
    Object.entries(SETTINGS as Record<string, Setting<unknown>>).map(([name, { read: reader, standard }]) => {
      const value = environment[name]?.trim() || file[name]?.trim() || standard;
      try {
        return [name, value === undefined ? undefined : reader(value, cwd)];
      } catch (error) {
        if (!(error instanceof Mistake)) throw error;
        mistakes.push(`${name} ${error.message}`);
        wrong.add(name);
        return [name, undefined];
      }
    }),
  ) as Read;
  mistakes.push(...contradictions(read, wrong));
  if (mistakes.length > 0) throw new OperatorError(mistakes.join("\n"));
  return configOf(read, environment);
}

function readEnvFile(path: string): Environment {
  try {
    return parseEnv(readFileSync(path, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw new OperatorError(`${path} cannot be read: ${messageOf(error)}`);
  }
}

/** Conflicts between settings that are each valid. */
function contradictions(read: Read, wrong: ReadonlySet<string>): string[] {
  const isMissing = (name: OptionalName): boolean => read[name] === undefined && !wrong.has(name);
  const found: string[] = [];
  if (!isLoopback(read.HOST) && isMissing("PUBLIC_URL")) {
    found.push(`PUBLIC_URL must say how clients reach the server, because HOST ${read.HOST} is not a loopback address`);
  }
  if (isMissing("ADMIN_EMAIL") !== isMissing("ADMIN_PASSWORD")) {
    found.push("ADMIN_EMAIL and ADMIN_PASSWORD must be set together");
  }
  if (isMissing("LLM_BASE_URL") !== isMissing("LLM_MODEL")) {
    found.push("LLM_BASE_URL and LLM_MODEL must be set together: the API, and the name of one of its models");
  } else if (isMissing("LLM_BASE_URL") && !wrong.has("LLM_BASE_URL")) {
    for (const name of ["LLM_API_KEY", "LLM_API_KEY_HEADER", "LLM_PRICES"] as const)
      if (!isMissing(name)) found.push(`${name} is for LLM_BASE_URL and LLM_MODEL, which are not set`);
  } else if (isMissing("LLM_API_KEY") && !isMissing("LLM_API_KEY_HEADER")) {
    found.push("LLM_API_KEY_HEADER is for LLM_API_KEY, which is not set");
  }
  if (isMissing("SMTP_URL") !== isMissing("MAIL_FROM")) {
    found.push("SMTP_URL and MAIL_FROM must be set together: the server that mail goes out by, and its sender");
  }
  if (read.METRICS_PORT !== undefined && read.METRICS_PORT === read.PORT && read.PORT !== 0) {
    found.push(`METRICS_PORT must be another port than PORT, which is ${read.PORT}`);
  }
  return found;
}

/** Without anything that is a secret of the server's. */
const OF_COMMANDS = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR"];

const configOf = (read: Read, environment: Environment): Config => ({
  port: read.PORT,
  host: read.HOST,
  publicUrl: read.PUBLIC_URL,
  dataFolder: read.DATA_DIR,
  databaseUrl: read.DATABASE_URL,
  defaultPlan: read.DEFAULT_PLAN,
  corsOrigins: read.CORS_ORIGINS,
  trustedProxies: read.TRUSTED_PROXIES,
  outboundAllow: read.OUTBOUND_ALLOW,
  mcpStdio: {
    allowed: read.MCP_STDIO_ALLOW.map((entry) => parseAllowedCommand(entry)!),
    environment: Object.fromEntries(
      OF_COMMANDS.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])),
    ),
  },
  llm:
    read.LLM_BASE_URL && read.LLM_MODEL
      ? {
          baseUrl: read.LLM_BASE_URL,
          model: read.LLM_MODEL,
          apiKey: read.LLM_API_KEY,
          apiKeyHeader: read.LLM_API_KEY_HEADER ?? null,
          prices: read.LLM_PRICES ?? null,
        }
      : undefined,
  mail: read.SMTP_URL && read.MAIL_FROM ? { server: read.SMTP_URL, from: read.MAIL_FROM } : undefined,
  metrics: read.METRICS_PORT === undefined ? undefined : { port: read.METRICS_PORT, host: read.METRICS_HOST },
  logLevel: read.LOG_LEVEL,
  admin:
    read.ADMIN_EMAIL && read.ADMIN_PASSWORD ? { email: read.ADMIN_EMAIL, password: read.ADMIN_PASSWORD } : undefined,
  secretKey: read.SECRET_KEY,
});
