/** A client of the public API: GraphQL over HTTP, subscriptions over Server-Sent Events. */
import { Option, type Command } from "commander";
import { messageOf, OperatorError, type Code, type FieldProblem } from "../lib/errors.ts";
import { refusalText, type CommandLine } from "./command-line.ts";
import { readEvents } from "./event-stream.ts";
import { serverUrl } from "./server-address.ts";

export type Api = {
  /** Without a slash at the end. */
  url: string;
  /** Answers `data`. Throws ApiError, or OperatorError when the server can't be reached. */
  send<Data>(query: string, variables?: object, headers?: Record<string, string>): Promise<Data>;
  /** Each `data` of a subscription, until it completes or is cut off. Throws the same. */
  subscribe<Data>(query: string, variables: object): AsyncGenerator<Data>;
};

/** A refusal of the server, as one line. */
export class ApiError extends OperatorError {
  readonly code: Code | undefined;

  constructor(code: Code | undefined, message: string) {
    super(message);
    this.name = "ApiError";
    this.code = code;
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

export function openApi(line: CommandLine, options: ApiOptions): Api {
  const credential = (options.apiKey ?? line.environment["AUTOGRAPH_API_KEY"] ?? "").trim();
  const url = serverUrl(line.config(), options.url);
  if (credential !== "" && !/^[\x21-\x7e]+$/.test(credential))
    throw new OperatorError("the API key has characters that no key has");
  if (credential !== "") return createApi(url, credential);
  throw new OperatorError(
    "no API key: set AUTOGRAPH_API_KEY or give --api-key (`autograph setup` prints a first one, `createApiKey` makes more)",
  );
}

/** The server itself answers a `wait` within 30 s. */
const ANSWER_TIMEOUT_MS = 60_000;

/** Without a credential only `login` and `setup` are answered. */
export function createApi(url: string, credential?: string): Api {
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
        if (event === "next") yield dataOf(JSON.parse(data) as Answer) as never;
      }
    },
  };
}

function dataOf({ data, errors }: Answer): unknown {
  const [first] = errors ?? [];
  if (!first) return data;
  const { code, fields = [], retryAfter } = first.extensions ?? {};
  const advice = code === "UNAUTHENTICATED" ? " (is the API key of this server, and not revoked?)" : "";
  const again = retryAfter === undefined ? "" : ` (again in ${retryAfter} s)`;
  throw new ApiError(code, refusalText(first.message, fields) + advice + again);
}

async function answerOf(url: string, response: Response): Promise<Answer> {
  let answer: unknown;
  try {
    answer = await response.json();
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
