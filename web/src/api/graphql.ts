/** Operations over HTTP POST, relative to the page. */

/** What the server refused, in its own words; `fields` by name, as `extensions.fields` has them. */
export class Refused extends Error {
  readonly fields: Map<string, string>;

  constructor(message: string, fields: Map<string, string> = new Map()) {
    super(message);
    this.fields = fields;
  }
}

type Answer = {
  data?: Record<string, unknown> | null;
  errors?: { message: string; extensions?: { fields?: { path: string; message: string }[] } }[];
};

/** Answers `data`. Throws Refused with a sentence for people, also when the server is out of reach. */
export async function send(query: string, variables: Record<string, unknown>): Promise<Record<string, unknown>> {
  const { data, errors } = await post(JSON.stringify({ query, variables }));
  const [first] = errors ?? [];
  if (first) {
    const fields = (first.extensions?.fields ?? []).map(({ path, message }) => [lastOf(path), message] as const);
    throw new Refused(first.message, new Map(fields));
  }
  return data ?? {};
}

async function post(body: string): Promise<Answer> {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch("graphql", { method: "POST", headers, body }).catch(() => undefined);
  if (response === undefined) throw new Refused("The server does not answer. Is it still running?");
  try {
    return (await response.json()) as Answer;
  } catch {
    throw new Refused(`The server answered with status ${response.status} and no JSON.`);
  }
}

const lastOf = (path: string): string => path.slice(path.lastIndexOf(".") + 1);
