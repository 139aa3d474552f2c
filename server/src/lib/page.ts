/** Keyset pages, newest first: an item's id is its cursor, so a page stays right while rows are added. */
import { badInput } from "./errors.ts";
import { LIMITS } from "./limits.ts";

/** At most `first` items whose id is below `after`. */
export type PageRequest = { first: number; after?: string };
export type Page<Item> = { items: Item[]; hasNextPage: boolean };

export function checkPage(request: PageRequest): PageRequest {
  if (request.first < 1 || request.first > LIMITS.pageSize) {
    throw badInput("invalid_input", `first must be between 1 and ${LIMITS.pageSize}`, [
      { path: "first", code: "out_of_range", message: `must be between 1 and ${LIMITS.pageSize}` },
    ]);
  }
  return request;
}

/** Cuts the one row too many that was read to know whether there is a next page. */
export const pageOf = <Item>(rows: Item[], first: number): Page<Item> => ({
  items: rows.slice(0, first),
  hasNextPage: rows.length > first,
});
