/** A response before its body is decompressed. */

/** `body` as it came over the wire. `setCookies`: one may contain a comma, so they can't be joined as other headers are. */
export type Answer = {
  status: number;
  statusText: string;
  headers: Record<string, string>;
  setCookies: readonly string[];
  body: Buffer;
};

/** Asked from time to time while a body arrives: whether the rest, which may never end, is not needed. Must not reject. */
export type IsEnough = (answer: Answer) => Promise<boolean>;

/** The codings that we decompress. */
export type Coding = "gzip" | "x-gzip" | "br";
const CODINGS = new Set<string>(["gzip", "x-gzip", "br"] satisfies Coding[]);

/** Undefined for another coding, or several. */
export function codingOf({ "content-encoding": given }: Answer["headers"]): Coding | undefined {
  const coding = given?.trim().toLowerCase();
  return coding !== undefined && CODINGS.has(coding) ? (coding as Coding) : undefined;
}
