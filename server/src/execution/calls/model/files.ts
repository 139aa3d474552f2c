/** The files that a `call: llm` shows a model: read from URLs behind the outbound guard, or out of `data:` URLs. Their bytes are not kept. */
import { WorkflowError } from "../../../definition/workflow-error.ts";
import { FairPool, type Charge } from "../../../fairness/fair-pool.ts";
import { follow } from "../../../lib/abort.ts";
import { until, type Clock } from "../../../lib/clock.ts";
import type { OrganizationId } from "../../../lib/ids.ts";
import { LIMITS } from "../../../lib/limits.ts";
import { essenceOf } from "../../../lib/media-type.ts";
import { parseUrl } from "../../../lib/parse-url.ts";
import { shownText } from "../../../lib/text.ts";
import { fileTypeOf, MODEL_FILE_TYPES, type ModelFile } from "../../../llm/model-file.ts";
import { decodeText, encodingOf } from "../../../outbound/body-text.ts";
import type { Outbound } from "../../../outbound/outbound.ts";
import { asWorkflowError } from "../outbound-errors.ts";

/** `place` names it in errors: `files[0]`. */
export type FileSource = { url: string; place: string };

type Reading = { organizationId: OrganizationId; signal: AbortSignal; turn: () => Promise<void> | undefined };

/** A byte of a file is held as base64, in the request's JSON and in its bytes, which are 4/3 of it each. */
const HELD = 4;
/** For all files of a call. */
const TIMEOUT_MS = LIMITS.modelFilesSeconds * 1_000;
const WAITED_MS = LIMITS.modelFilesWaitSeconds * 1_000;
/** Without it, some servers send images in newer formats. */
const ACCEPT = "image/png, image/jpeg, image/webp, image/gif, application/pdf, text/*;q=0.9, */*;q=0.5";
const NAME_CHARACTERS = 100;

export class ModelFiles {
  readonly #outbound: Outbound;
  readonly #clock: Clock;
  readonly #held = new FairPool({
    shared: LIMITS.modelFilesHeldBytes,
    alone: HELD * LIMITS.modelFilesBytes,
    own: LIMITS.outputBytes,
    // A model may take an hour: two slow calls of one organization would leave others no room for large files.
    besideAlone: LIMITS.outputBytes,
  });

  constructor(outbound: Outbound, clock: Clock) {
    this.#outbound = outbound;
    this.#clock = clock;
  }

  /** For the files of one call of a model, which are held until it is disposed. */
  open(organizationId: OrganizationId): Charge {
    return this.#held.open(organizationId);
  }

  /** Waits for memory, then reads them one after the other. Undefined: there was no memory. Throws WorkflowError, or the signal's reason. */
  async read(sources: readonly FileSource[], charge: Charge, reading: Reading): Promise<ModelFile[] | undefined> {
    const most = sources.reduce((sum, { url }) => sum + mostBytesOf(url), 0);
    if (!(await this.#hold(charge, HELD * Math.min(most, LIMITS.modelFilesBytes), reading.signal))) return undefined;
    const files: ModelFile[] = [];
    const endsAt = this.#clock.now() + TIMEOUT_MS;
    let bytes = 0;
    for (const source of sources) {
      const read = isData(source.url) ? fromData(source) : await this.#fetch(source, reading, endsAt);
      bytes += read.bytes;
      if (bytes > LIMITS.modelFilesBytes)
        throw unfit(`the files are larger than ${LIMITS.modelFilesBytes} bytes together`);
      files.push(read.file);
      await reading.turn();
    }
    charge.lessenTo(HELD * bytes);
    return files;
  }

  async #hold(charge: Charge, bytes: number, signal: AbortSignal): Promise<boolean> {
    if (charge.tryHold(bytes)) return true;
    using waiting = follow(signal);
    const end = (): void => waiting.abort(new Error("waited long enough"));
    void until(this.#clock, this.#clock.now() + WAITED_MS, waiting.signal).then(end, () => {});
    const isHeld = await charge.hold(bytes, waiting.signal);
    end();
    signal.throwIfAborted();
    return isHeld;
  }

  async #fetch({ url, place }: FileSource, { organizationId, signal, turn }: Reading, endsAt: number): Promise<Read> {
    const request = {
      organizationId,
      method: "GET",
      url,
      headers: { accept: ACCEPT },
      redirect: true,
      signal,
      timeoutMs: Math.max(1, endsAt - this.#clock.now()),
      limitMs: TIMEOUT_MS,
      mostBytes: LIMITS.modelFileBytes,
      turn,
    };
    try {
      const { status, headers, body } = await this.#outbound.request(request);
      const { origin } = parseUrl(url)!;
      if (status < 200 || status > 299)
        throw WorkflowError.of("communication", `${place}: ${origin} answered with ${status}, ${SO}`, status);
      return readAs(body, headers["content-type"], { place, name: nameIn(url) });
    } catch (error) {
      throw asWorkflowError(error, `${place}: `);
    }
  }
}

type Read = { file: ModelFile; bytes: number };

const SO = "so nothing was asked";
const unfit = (message: string): WorkflowError => WorkflowError.of("validation", `${message}, ${SO}`);

const DATA = "data:";
const isData = (url: string): boolean => url.slice(0, DATA.length).toLowerCase() === DATA;
const mostBytesOf = (url: string): number =>
  Math.min(LIMITS.modelFileBytes, isData(url) ? Buffer.byteLength(url) : Infinity);

/** Why a text is no address of a file; undefined if it may be one. */
export function fileUrlProblem(url: string): string | undefined {
  if (isData(url)) return url.includes(",") ? undefined : "has no comma before its data";
  return /^https?:\/\//i.test(url) && parseUrl(url)
    ? undefined
    : "must be a URL that begins with https://, http:// or data:";
}

function readAs(
  bytes: Uint8Array,
  contentType: string | undefined,
  { place, name }: { place: string; name?: string | undefined },
): Read {
  if (bytes.length === 0) throw unfit(`${place} is empty`);
  const type = fileTypeOf(bytes, contentType);
  if (type === undefined) {
    const said = shownText(essenceOf(contentType), NAME_CHARACTERS);
    throw unfit(
      `${place} is none of the files that models take${said && ` (its server calls it ${said})`}: ${MODEL_FILE_TYPES}`,
    );
  }
  if (type !== "text/plain") {
    const base64 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64");
    return { file: { name, type, base64 }, bytes: bytes.length };
  }
  const encoding = encodingOf(bytes, contentType);
  if (encoding === undefined) throw unfit(`${place} is text in a charset that can't be read`);
  return { file: { name, text: decodeText(bytes, encoding) }, bytes: bytes.length };
}

/** RFC 2397. */
function fromData({ url, place }: FileSource): Read {
  const comma = url.indexOf(",");
  const words = url.slice(DATA.length, comma).split(";");
  const isBase64 = words.at(-1)!.trim().toLowerCase() === "base64";
  // Without base64 it is text already, whatever its charset was.
  const contentType = isBase64 ? words.slice(0, -1).join(";") : words[0] || "text/plain";
  const data = percentDecoded(url.slice(comma + 1));
  if (data === undefined || (isBase64 && !isBase64Text(data))) throw unfit(`the data of ${place} can't be decoded`);
  const bytes = Buffer.from(data, isBase64 ? "base64" : "utf8");
  if (bytes.length > LIMITS.modelFileBytes) throw unfit(`${place} is larger than ${LIMITS.modelFileBytes} bytes`);
  return readAs(bytes, contentType, { place });
}

const isBase64Text = (text: string): boolean => /^[A-Za-z0-9+/]*={0,2}$/.test(text.replaceAll(/\s+/g, ""));

function percentDecoded(text: string): string | undefined {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The last part of the URL's path. */
function nameIn(url: string): string | undefined {
  const last = parseUrl(url)!.pathname.split("/").at(-1)!;
  return shownText(percentDecoded(last) ?? last, NAME_CHARACTERS) || undefined;
}
