/** HTTP digest authentication (RFC 7616, and 2069 for servers without `qop`): what a server asks for, and the answer to it. */
import { hash, randomBytes } from "node:crypto";
import { WorkflowError } from "../../definition/workflow-error.ts";

type Login = { username: string; password: string };
type Asked = { method: string; url: string };
export type Challenge = ReadonlyMap<string, string>;

/** The strongest first. */
const ALGORITHMS = new Map([
  ["sha-256", "sha256"],
  ["sha-512-256", "sha512-256"],
  ["md5", "md5"],
]);
const SESSION = /-sess$/;
const CNONCE_BYTES = 16;

/** The strongest challenge that we know in a 401. Undefined: it does not ask for a digest. Throws WorkflowError. */
export function challengeIn(header: string | undefined, host: string): Challenge | undefined {
  const challenges = challengesIn(header ?? "");
  if (challenges.length === 0) return undefined;
  const names = [...ALGORITHMS.keys()];
  const known = challenges.filter((one) => names.includes(nameOf(one)) && qopOf(one) !== null);
  const [best] = known.toSorted((one, other) => names.indexOf(nameOf(one)) - names.indexOf(nameOf(other)));
  if (best) return best;
  throw WorkflowError.of(
    "authentication",
    `${host} asks for a digest that is not supported: the algorithms are ${names.join(", ")}, the qop auth`,
  );
}

const algorithmOf = (challenge: Challenge): string => (challenge.get("algorithm") ?? "md5").toLowerCase();
const nameOf = (challenge: Challenge): string => algorithmOf(challenge).replace(SESSION, "");

/** Undefined: the server asks for none. Null: it offers only others than `auth`. */
function qopOf(challenge: Challenge): "auth" | undefined | null {
  const offered =
    challenge
      .get("qop")
      ?.toLowerCase()
      .split(/[\s,]+/)
      .filter(Boolean) ?? [];
  if (offered.length === 0) return undefined;
  return offered.includes("auth") ? "auth" : null;
}

/** The answer, for one request: a server's nonce is used once. */
export function digestOf(
  challenge: Challenge,
  { username, password }: Login,
  { method, url }: Asked,
  cnonce = randomBytes(CNONCE_BYTES).toString("hex"),
): string {
  const digest = (text: string): string => hash(ALGORITHMS.get(nameOf(challenge))!, text, "hex");
  const [realm, nonce] = [challenge.get("realm") ?? "", challenge.get("nonce") ?? ""];
  const { pathname, search } = new URL(url);
  const uri = pathname + search;
  const qop = qopOf(challenge);
  const nc = "00000001";
  const login = digest(`${username}:${realm}:${password}`);
  const first = SESSION.test(algorithmOf(challenge)) ? digest(`${login}:${nonce}:${cnonce}`) : login;
  const second = digest(`${method}:${uri}`);
  const response = digest(qop ? `${first}:${nonce}:${nc}:${cnonce}:${qop}:${second}` : `${first}:${nonce}:${second}`);
  const opaque = challenge.get("opaque");
  const isHashed = challenge.get("userhash")?.toLowerCase() === "true";
  const parts = [
    isHashed ? `username=${quoted(digest(`${username}:${realm}`))}` : nameField(username),
    `realm=${quoted(realm)}`,
    `nonce=${quoted(nonce)}`,
    `uri=${quoted(uri)}`,
    ...(challenge.has("algorithm") ? [`algorithm=${challenge.get("algorithm")}`] : []),
    `response="${response}"`,
    ...(opaque === undefined ? [] : [`opaque=${quoted(opaque)}`]),
    ...(qop ? [`qop=${qop}`, `nc=${nc}`, `cnonce="${cnonce}"`] : []),
    ...(isHashed ? ["userhash=true"] : []),
  ];
  return `Digest ${parts.join(", ")}`;
}

/** A header has Latin-1 alone (RFC 7616, 3.4.4). */
const nameField = (username: string): string =>
  /^[ -~]*$/.test(username) ? `username=${quoted(username)}` : `username*=UTF-8''${encodeURIComponent(username)}`;

const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;

/** A scheme, or a parameter with its value, which may be in quotes. */
const PART = /([!#$%&'*+.^_`|~\w-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*)))?/g;

/** Those of the scheme Digest; parameters by their names in lower case. */
function challengesIn(header: string): Map<string, string>[] {
  const found: Map<string, string>[] = [];
  let current: Map<string, string> | undefined;
  for (const [whole, name, inQuotes, plain] of header.matchAll(PART)) {
    const value = inQuotes?.replaceAll(/\\(.)/g, "$1") ?? plain;
    if (value !== undefined) current?.set(name!.toLowerCase(), value);
    else if (whole.toLowerCase() === "digest") found.push((current = new Map()));
    else current = undefined;
  }
  return found;
}
