/** Secrets that tests plant, every way in which a server may repeat them, and every place where they must not be found. */
import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "vitest";
import { createLog } from "../server/src/lib/log/log.ts";
import { connectServer } from "../server/src/storage/connect.ts";
import { attachStorage } from "../server/src/storage/open-storage.ts";
import type { Data, TestServer } from "./client.ts";

/** A secret whose forms differ: the search finds each in plain text, in base64 anywhere in a text, in a URL and in JSON. */
export const plantedSecret = (index: number): string =>
  `pl4nted ${index} "${"é/+&<'!".repeat(2)}${randomBytes(12).toString("hex")}`;

/** As a URL may have it. */
const everySign = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");

/** A text in all the forms in which a server may repeat it. */
export const repeated = (text: string): Data => ({
  text,
  json: JSON.stringify({ text }),
  url: encodeURIComponent(text),
  form: new URLSearchParams({ text }).toString(),
  base64: Buffer.from(`x${text}`).toString("base64"),
  base64url: Buffer.from(`xy${text}`).toString("base64url"),
  everySign: everySign(text),
  twice: encodeURIComponent(encodeURIComponent(text)),
  jsonOfAscii: JSON.stringify({ text })
    .replaceAll("/", "\\/")
    .replaceAll(/[^ -%(-;=?-~]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`),
  html: text.replaceAll(/[^\w ]/g, (sign) => `&#${sign.charCodeAt(0)};`),
  hex: Buffer.from(text).toString("hex"),
  [text]: [1, { text }],
});

function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  // Without what depends on its neighbours.
  const base64 = [0, 1, 2].map((before) =>
    Buffer.concat([Buffer.alloc(before), bytes])
      .toString("base64")
      .slice(4, -6),
  );
  const json = JSON.stringify(secret).slice(1, -1);
  return [
    secret,
    secret.slice(-24),
    json,
    encodeURIComponent(secret),
    everySign(secret),
    ...base64,
    bytes.toString("hex"),
  ];
}

/** Names the places that have any of the planted values in any form. */
export function leaksIn(places: Record<string, string>, planted: readonly string[]): string[] {
  return Object.entries(places).flatMap(([place, content]) =>
    planted.flatMap((secret, index) =>
      formsOf(secret).some((form) => content.includes(form)) ? [`${place} has ${index}`] : [],
    ),
  );
}

/** The log, the figures, each row of the database, and each file. */
export async function placesOf(server: TestServer): Promise<Record<string, string>> {
  const places: Record<string, string> = {
    "the server's log": server.log(),
    metrics: await metricsOf(server),
    "a dump": await dumpOf(server),
  };
  if (!server.isEmbedded) return places;
  for (const file of await readdir(server.dataFolder, { recursive: true, withFileTypes: true }))
    if (file.isFile() && file.name !== "ballast")
      places[file.name] = await readFile(path.join(file.parentPath, file.name), "latin1").catch(() => "");
  return places;
}

/** Every row of every table as text, as a dump has them. */
async function dumpOf({ databaseUrl, dataFolder }: TestServer): Promise<string> {
  await using database = databaseUrl
    ? await connectServer(databaseUrl, createLog("silent"))
    : (await attachStorage({ dataFolder, log: createLog("silent") }))!.database;
  const tables = await database.query(
    "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'public'",
  );
  const texts = await Promise.all(
    tables.map(async ({ name }) =>
      (await database.query(`select t::text as row from ${name} t`)).map(({ row }) => row),
    ),
  );
  return texts.flat().join("\n");
}

async function metricsOf({ url, world }: TestServer): Promise<string> {
  const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${world.apiKey}` } });
  const text = await answer.text();
  expect(text).toContain("autograph_outbound_calls_total");
  return text;
}

/** Every text of an answer as it is, without JSON's escapes. */
export function textsIn(value: Data): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([key, child]) => [key, ...textsIn(child)])
    : [];
}
