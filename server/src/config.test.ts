import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readConfig, SETTINGS } from "./config.ts";
import { OperatorError } from "./lib/errors.ts";

const NOWHERE = "/nowhere";

const mistakesOf = (environment: Record<string, string>, cwd = NOWHERE): string[] => {
  try {
    readConfig(environment, cwd);
    return [];
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return error.message.split("\n");
  }
};

test("an empty environment gives a loopback server with its data beside it", () => {
  expect(readConfig({}, NOWHERE)).toEqual({
    port: 4400,
    host: "127.0.0.1",
    publicUrl: undefined,
    dataFolder: "/nowhere/data",
    databaseUrl: undefined,
    defaultPlan: "enterprise",
    corsOrigins: [],
    trustedProxies: [],
    outboundAllow: [],
    mcpStdio: { allowed: [], environment: {} },
    llm: undefined,
    mail: undefined,
    metrics: undefined,
    logLevel: "info",
    admin: undefined,
    secretKey: undefined,
  });
});

test("settings are read as what they mean", () => {
  const config = readConfig(
    {
      PORT: "0",
      HOST: "0.0.0.0",
      PUBLIC_URL: "https://Agents.example.org/autograph/",
      DATA_DIR: "/var/autograph",
      CORS_ORIGINS: "https://a.example.org, http://localhost:5173",
      TRUSTED_PROXIES: "10.0.0.0/8,::1",
      OUTBOUND_ALLOW: "127.0.0.1/32",
      MCP_STDIO_ALLOW: "TOKEN= search-mcp --all, /opt/mcp",
      PATH: "/bin",
      LLM_BASE_URL: "http://127.0.0.1:11434/v1/",
      LLM_MODEL: "qwen3:8b",
      LLM_API_KEY: "sk-1",
      LLM_API_KEY_HEADER: "api-key",
      METRICS_PORT: "0",
      ADMIN_EMAIL: "ada@example.org",
      ADMIN_PASSWORD: "correct horse",
      LOG_LEVEL: "",
      SECRET_KEY: "09".repeat(32),
    },
    NOWHERE,
  );
  expect(config).toMatchObject({
    port: 0,
    host: "0.0.0.0",
    publicUrl: "https://agents.example.org/autograph",
    dataFolder: "/var/autograph",
    corsOrigins: ["https://a.example.org", "http://localhost:5173"],
    trustedProxies: ["10.0.0.0/8", "::1"],
    outboundAllow: ["127.0.0.1/32"],
    mcpStdio: {
      allowed: [
        { command: "search-mcp", arguments: ["--all"], settable: ["TOKEN"] },
        { command: "/opt/mcp", arguments: undefined, settable: [] },
      ],
      environment: { PATH: "/bin" },
    },
    llm: { baseUrl: "http://127.0.0.1:11434/v1", model: "qwen3:8b", apiKey: "sk-1", apiKeyHeader: "api-key" },
    metrics: { port: 0, host: "127.0.0.1" },
    admin: { email: "ada@example.org", password: "correct horse" },
    logLevel: "info",
    secretKey: Buffer.alloc(32, 9),
  });
});

test.each([
  ["https://api.example.com/v1/?path=/a/", "https://api.example.com/v1?path=/a/"],
  ["https://api.example.com/v1?", "https://api.example.com/v1"],
  ["https://api.example.com/v1/#", "https://api.example.com/v1"],
])("paths can be appended to %s", (given, baseUrl) => {
  const { llm } = readConfig({ LLM_BASE_URL: given, LLM_MODEL: "m" }, NOWHERE);
  expect(llm).toMatchObject({ baseUrl });
});

test.each([
  ["smtp://smtp.example.com", { host: "smtp.example.com", port: 587, tls: "starttls", user: undefined }],
  ["smtp://smtp.example.com:25?tls=none", { port: 25, tls: "none" }],
  ["smtp://127.0.0.1:1025", { host: "127.0.0.1", port: 1025, tls: "none" }],
  ["smtp://[::1]", { host: "::1", port: 587, tls: "none" }],
  ["smtp://localhost?tls=required", { tls: "starttls" }],
  ["smtps://smtp.example.com", { port: 465, tls: "wrapped" }],
  ["smtps://a%40example.org:p%25%2F%3A%20@smtp.example.com", { user: "a@example.org", password: "p%/: " }],
])("mail goes out by %s", (SMTP_URL, server) => {
  const { mail } = readConfig({ SMTP_URL, MAIL_FROM: '"Autograph, Inc." <agents@example.org>' }, NOWHERE);
  expect(mail).toMatchObject({ server, from: { name: "Autograph, Inc.", address: "agents@example.org" } });
});

test("paths can be appended to a public URL with an empty query or fragment", () => {
  for (const end of ["?", "/#", "?#"])
    expect(readConfig({ PUBLIC_URL: `https://agents.example.org/autograph${end}` }, NOWHERE)).toMatchObject({
      publicUrl: "https://agents.example.org/autograph",
    });
});

test("every mistake is a line of its own that begins with the setting's name", () => {
  const lines = mistakesOf({
    PORT: "65536",
    PUBLIC_URL: "agents.example.org",
    DATABASE_URL: "mysql://host/database",
    DEFAULT_PLAN: "gold",
    CORS_ORIGINS: "https://a.example.org/path",
    TRUSTED_PROXIES: "10.0.0.0/33",
    OUTBOUND_ALLOW: "localhost",
    METRICS_PORT: "9464x",
    LOG_LEVEL: "verbose",
    ADMIN_EMAIL: "ada@example.org",
    ADMIN_PASSWORD: "short",
    SECRET_KEY: "short",
  });
  expect(lines.map((line) => line.split(" ")[0])).toEqual([
    "PORT",
    "PUBLIC_URL",
    "DATABASE_URL",
    "DEFAULT_PLAN",
    "CORS_ORIGINS",
    "TRUSTED_PROXIES",
    "OUTBOUND_ALLOW",
    "METRICS_PORT",
    "LOG_LEVEL",
    "ADMIN_PASSWORD",
    "SECRET_KEY",
  ]);
});

test.for([
  [{ HOST: "0.0.0.0" }, "PUBLIC_URL"],
  [{ HOST: "192.0.2.1" }, "PUBLIC_URL"],
  [{ ADMIN_EMAIL: "ada@example.org" }, "ADMIN_PASSWORD"],
  [{ PORT: "http" }, "PORT"],
  [{ PORT: "-1" }, "PORT"],
  [{ METRICS_PORT: "4400" }, "METRICS_PORT must be another port than PORT"],
  [{ PUBLIC_URL: "https://user@example.org" }, "PUBLIC_URL"],
  [{ PUBLIC_URL: "https://example.org/?a=1" }, "PUBLIC_URL"],
  [{ CORS_ORIGINS: "*" }, "CORS_ORIGINS"],
  [{ MCP_STDIO_ALLOW: "/bin/mcp, bin/mcp" }, 'separated by commas; "bin/mcp" is not'],
  [{ MCP_STDIO_ALLOW: "TOKEN=" }, "MCP_STDIO_ALLOW must be commands"],
  [{ MCP_STDIO_ALLOW: "TOKEN=abc mcp" }, "MCP_STDIO_ALLOW must be commands"],
  [{ LLM_BASE_URL: "http://127.0.0.1:11434/v1" }, "LLM_BASE_URL and LLM_MODEL must be set together"],
  [{ LLM_MODEL: "qwen3:8b" }, "LLM_BASE_URL and LLM_MODEL must be set together"],
  [{ LLM_API_KEY: "sk-1" }, "LLM_API_KEY is for LLM_BASE_URL and LLM_MODEL, which are not set"],
  [{ LLM_API_KEY_HEADER: "api-key" }, "LLM_API_KEY_HEADER is for LLM_BASE_URL and LLM_MODEL, which are not set"],
  [{ LLM_PRICES: "1,2" }, "LLM_PRICES is for LLM_BASE_URL and LLM_MODEL, which are not set"],
  ...["1", "1,x", "-1,2", "1,2000000", "1,2,3,euro"].map((LLM_PRICES): [object, string] => [
    { LLM_BASE_URL: "https://a.example/v1", LLM_MODEL: "m", LLM_PRICES },
    "LLM_PRICES must be prices of a million tokens",
  ]),
  [{ SMTP_URL: "smtp://smtp.example.com" }, "SMTP_URL and MAIL_FROM must be set together"],
  [{ MAIL_FROM: "a@example.org" }, "SMTP_URL and MAIL_FROM must be set together"],
  ...(
    [
      ["smtp.example.com:587", "must be a URL like smtp://"],
      ["http://smtp.example.com", "must be a URL like smtp://"],
      ["smtp://smtp.example.com/path", "must have neither a path nor a fragment"],
      ["smtp://smtp.example.com?tls=maybe", "must have tls=required or tls=none"],
      ["smtp://smtp.example.com?secure=1", 'must have no parameter but tls, and has "secure"'],
      ["smtps://smtp.example.com?tls=none", "tls=none contradicts it"],
      ["smtp://user@smtp.example.com", "must have both a user and a password"],
      ["smtp://user:100%@smtp.example.com", "must have its user and password percent-encoded"],
      ["smtp://user:a%0d%0aQUIT@smtp.example.com", "must have its user and password percent-encoded"],
    ] as const
  ).map(([SMTP_URL, mistake]): [object, string] => [{ SMTP_URL, MAIL_FROM: "a@example.org" }, mistake]),
  ...[
    "agents",
    "a@example.org, b@example.org",
    "A <a@example.org>\r\nBcc: b@example.org",
    '"A" "B" <a@example.org>',
  ].map((MAIL_FROM): [object, string] => [
    { SMTP_URL: "smtp://smtp.example.com", MAIL_FROM },
    "MAIL_FROM must be an address like",
  ]),
  [{ LLM_BASE_URL: "api.example.com/v1", LLM_MODEL: "m" }, "LLM_BASE_URL must be the URL of an OpenAI-compatible API"],
  [{ LLM_BASE_URL: "https://a.example/v1", LLM_MODEL: "m", LLM_API_KEY: "sk 1" }, "LLM_API_KEY must be"],
  [
    { LLM_BASE_URL: "https://a.example/v1", LLM_MODEL: "m", LLM_API_KEY: "sk-1", LLM_API_KEY_HEADER: "Host" },
    "LLM_API_KEY_HEADER must be a header that is free for a key, such as api-key: host is not",
  ],
  [
    { LLM_BASE_URL: "https://a.example/v1", LLM_MODEL: "m", LLM_API_KEY_HEADER: "api-key" },
    "LLM_API_KEY_HEADER is for LLM_API_KEY, which is not set",
  ],
] as [Record<string, string>, string][])("%o is one mistake that names %s", ([environment, name]) => {
  expect(mistakesOf(environment)).toEqual([expect.stringContaining(name)]);
});

test(".env gives what the environment does not", () => {
  const folder = mkdtempSync(join(tmpdir(), "autograph-config-"));
  writeFileSync(join(folder, ".env"), 'PORT=4501\nDATA_DIR=elsewhere\nLOG_LEVEL="debug" # loud\n');
  const config = readConfig({ PORT: "4502", LOG_LEVEL: "" }, folder);
  rmSync(folder, { recursive: true });
  expect(config).toMatchObject({ port: 4502, dataFolder: join(folder, "elsewhere"), logLevel: "debug" });
});

test("docs/configuration.md has one table with every setting, its standard value and its meaning", () => {
  const text = readFileSync(join(import.meta.dirname, "../../docs/configuration.md"), "utf8");
  const rows = text.split("\n").filter((line) => line.startsWith("| `"));
  const expected = Object.entries<{ standard?: string; meaning: string }>(SETTINGS).map(
    ([name, { standard, meaning }]) => `| \`${name}\` | ${standard ? `\`${standard}\`` : ""} | ${meaning} |`,
  );
  expect(rows).toEqual(expected);
});
