/** The project that a person means by its id or its handle. */
import { hint } from "../../lib/did-you-mean.ts";
import { OperatorError } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Api } from "./api.ts";
import type { Page } from "../line/page.ts";

type Listed = { id: string; handle: string };
type Data = { projects: Page<Listed> & { pageInfo: { endCursor: string | null } } };

const LIST = `query ($first: Int!, $after: String) {
  projects(first: $first, after: $after) { nodes { id handle } pageInfo { hasNextPage endCursor } }
}`;

/** For an id, the server is not asked whether there is such a project. Throws OperatorError. */
export async function findProjectId(api: Api, name: string): Promise<string> {
  if (name.startsWith("project_")) return name;
  const seen: string[] = [];
  for (let after: string | null = null; ;) {
    const { projects }: Data = await api.send<Data>(LIST, { first: LIMITS.pageSize, after });
    const found = projects.nodes.find(({ handle }) => handle === name);
    if (found) return found.id;
    seen.push(...projects.nodes.map(({ handle }) => handle));
    if (!projects.pageInfo.hasNextPage)
      throw new OperatorError(`there is no project ${JSON.stringify(name)}${hint(name, seen)}`);
    after = projects.pageInfo.endCursor;
  }
}
