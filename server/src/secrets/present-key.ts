import type { Query } from "../storage/database.ts";
import { newKeyId } from "./seal.ts";
import { insertKeyId, readKeyId } from "./store.ts";

/**
 * The id of the key to seal with. A rotation waits until what is sealed here is committed, and finds it; so anyone who changes
 * sealed rows besides does that later.
 */
export async function presentKeyId(query: Query): Promise<string> {
  const known = await readKeyId(query);
  if (known !== undefined) return known;
  await insertKeyId(query, newKeyId());
  return (await readKeyId(query))!;
}
