/** The SMTP server that mail goes out by, as `SMTP_URL` says it. */
import { isLoopback } from "../loopback.ts";

export type SmtpServer = {
  host: string;
  port: number;
  /** `wrapped`: TLS from the first byte. `starttls`: required, or nothing is sent. `none`: neither asked for nor taken. */
  tls: "wrapped" | "starttls" | "none";
  /** Undefined: it wants none. */
  user: string | undefined;
  password: string | undefined;
};

const WAYS = "smtp://user:password@smtp.example.com:587 (STARTTLS) or smtps://user:password@smtp.example.com";

/** Returns what is wrong as a text that reads on from the setting's name. */
export function parseSmtpUrl(text: string): SmtpServer | string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^smtps?:$/.test(url.protocol) || url.hostname === "") return `must be a URL like ${WAYS}`;
  if (!/^\/?$/.test(url.pathname) || url.hash) return "must have neither a path nor a fragment";
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const isWrapped = url.protocol === "smtps:";
  const { tls = isLoopback(host) ? "none" : "required", ...others } = Object.fromEntries(url.searchParams);
  const [other] = Object.keys(others);
  if (other !== undefined) return `must have no parameter but tls, and has "${other}"`;
  if (tls !== "required" && tls !== "none") return "must have tls=required or tls=none, if it has tls";
  if (isWrapped && url.searchParams.get("tls") === "none") return "is smtps://, which is TLS: tls=none contradicts it";
  const user = decoded(url.username);
  const password = decoded(url.password);
  if (user === undefined || password === undefined)
    return "must have its user and password percent-encoded, @ as %40 and % as %25";
  if ((user === "") !== (password === "")) return "must have both a user and a password, or neither";
  return {
    host,
    port: url.port === "" ? (isWrapped ? 465 : 587) : Number(url.port),
    tls: isWrapped ? "wrapped" : tls === "required" ? "starttls" : "none",
    user: user || undefined,
    password: password || undefined,
  };
}

/** Undefined: it is not percent-encoded, or would end a line of the protocol. */
function decoded(part: string): string | undefined {
  try {
    const text = decodeURIComponent(part);
    return /\p{Cc}/u.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}
