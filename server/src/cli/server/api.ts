/** A client of the public API: GraphQL over HTTP, subscriptions over Server-Sent Events. */
import { Option, type Command } from "commander";
import type { Config } from "../../config.ts";
import { messageOf, OperatorError, type Code, type FieldProblem } from "../../lib/errors.ts";
import { parseStored } from "../../lib/json/json.ts";
import { refusalText, type CommandLine } from "../line/command-line.ts";
import { readEvents } from "./event-stream.ts";
import { keptKey } from "./kept-key.ts";
import { serverUrl, serverUrlFor, servingProcess } from "./server-address.ts";
import { plainText } from "../line/terminal.ts";

export type Api = {
  /** Without a slash at the end. */
  url: string;
  /** Returns `data`. Throws ApiError, or OperatorError if the server can't be reached. */
  send<Data>(query: string, variables?: object, headers?: Record<string, string>): Promise<Data>;
  /** Each `data` of a subscription, until it completes or is cut off. Throws the same. */
  subscribe<Data>(query: string, variables: object): AsyncGenerator<Data>;
};

/** A refusal of the server, as one line. */
export class ApiError extends OperatorError {
  readonly code: Code | undefined;
  readonly fields: readonly FieldProblem[];

  constructor(code: Code | undefined, message: string, fields: readonly FieldProblem[] = []) {
    super(message);
    this.name = "ApiError";
    this.code = code;
    this.fields = fields;
  }
}

/** The server does not answer, or went away. */
export class Unreachable extends OperatorError {}

type ShownError = { message: string; extensions?: { code?: Code; fields?: FieldProblem[]; retryAfter?: number } };
type Answer = { data?: unknown; errors?: ShownError[] };

export type ApiOptions = { url?: string; apiKey?: string };

export const addApiOptions = (command: Command): Command =>
  command
    .addOption(new Option("--url <url>", "the server (PUBLIC_URL, else http://HOST:PORT)"))
    .addOption(new Option("--api-key <key>", "the credential (AUTOGRAPH_API_KEY)"));

/** The credential is `--api-key`, else AUTOGRAPH_API_KEY, else the one kept beside the server. Throws OperatorError. */
export function openApi(line: CommandLine, options: ApiOptions): Api {
  const given = (options.apiKey ?? line.environment["AUTOGRAPH_API_KEY"] ?? "").trim();
  if (given !== "") return createApi(serverUrlFor(line, options.url), checked(given));
  const config = line.config();
  const url = serverUrl(config, options.url);
  const kept = keptKey(config, url);
  if (kept) return createApi(url, checked(kept.key), ` (the key kept in ${kept.file})`);
  if (isDown(config, options)) throw new OperatorError(NO_SERVER(config.dataFolder));
  throw new OperatorError(
    "no API key: set AUTOGRAPH_API_KEY or give --api-key. `autograph setup` keeps one for the commands beside the server; if you set up in the browser, make one there: Settings, API keys",
  );
}

/** Nobody serves the data folder, and nothing names another server. */
const isDown = (config: Config, { url }: ApiOptions): boolean =>
  url === undefined && config.publicUrl === undefined && config.databaseUrl === undefined && !servingProcess(config);

const NO_SERVER = (folder: string): string =>
  `no server runs on the data folder ${folder}: start one with \`autograph start\`, or name another with --url and AUTOGRAPH_API_KEY`;

function checked(key: string): string {
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new OperatorError("the API key has characters that no key has");
}

/** The server itself answers a `wait` within 30 s. */
const ANSWER_TIMEOUT_MS = 60_000;

/** Without a credential only `login` and `setup` are answered. `origin` says where it is from when the server refuses it. */
export function createApi(url: string, credential?: string, origin = ""): Api {
  const dataOf = (answer: Answer): unknown => dataOrThrow(answer, origin);
  const post = async (accept: string, body: object, headers: object, signal?: AbortSignal): Promise<Response> => {
    const authorization = credential === undefined ? {} : { authorization: `Bearer ${credential}` };
    try {
      return await fetch(`${url}/graphql`, {
        method: "POST",
        headers: { "content-type": "application/json", accept, ...authorization, ...headers },
        body: JSON.stringify(body),
        ...(signal && { signal }),
      });
    } catch (error) {
      throw new Unreachable(unreachable(url, error));
    }
  };
  return {
    url,
    async send(query, variables = {}, headers = {}) {
      const response = await post(
        "application/json",
        { query, variables },
        headers,
        AbortSignal.timeout(ANSWER_TIMEOUT_MS),
      );
      return dataOf(await answerOf(url, response)) as never;
    },
    async *subscribe(query, variables) {
      const response = await post("text/event-stream", { query, variables }, {});
      if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
        dataOf(await answerOf(url, response));
        throw new OperatorError(`${url} did not answer with a stream of events`);
      }
      for await (const { event, data } of readEvents(response.body!)) {
        if (event === "complete") return;
        if (event === "next") yield dataOf(parseStored(data) as Answer) as never;
      }
    },
  };
}

function dataOrThrow({ data, errors }: Answer, origin: string): unknown {
  const [first] = errors ?? [];
  if (!first) return data;
  const { code, fields = [], retryAfter } = first.extensions ?? {};
  const from = code === "UNAUTHENTICATED" ? origin : "";
  const again = retryAfter === undefined ? "" : ` (again in ${retryAfter} s)`;
  throw new ApiError(code, plainText(refusalText(first.message, fields)) + from + again, fields);
}

async function answerOf(url: string, response: Response): Promise<Answer> {
  let answer: unknown;
  try {
    answer = parseStored(await response.text());
  } catch {
    answer = undefined;
  }
  if (typeof answer === "object" && answer !== null && ("data" in answer || "errors" in answer))
    return answer as Answer;
  const type = response.headers.get("content-type") ?? "nothing";
  throw new OperatorError(`${url} is no Autograph server: POST /graphql answered ${response.status} with ${type}`);
}

function unreachable(url: string, error: unknown): string {
  const cause = (error as { cause?: NodeJS.ErrnoException }).cause;
  if ((error as Error).name === "TimeoutError")
    return `the server at ${url} did not answer within ${ANSWER_TIMEOUT_MS / 1000} s`;
  const reason =
    cause?.code === "ECONNREFUSED" ? "connection refused" : (cause?.code ?? cause?.message ?? messageOf(error));
  return `no server answers at ${url} (${reason}): start one with \`autograph start\`, or name another with --url`;
}
