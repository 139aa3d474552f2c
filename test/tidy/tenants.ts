/** Which SQL touches a tenant's rows without naming the tenant. */
import { at, literalsOf, walk, type Source } from "./source.ts";

/** Tables with a column `organization_id`, from the texts of the migrations. Throws for a table whose columns it can't read. */
export function tenantTables(migrations: string): string[] {
  const text = migrations.replaceAll(/--.*$/gm, "");
  return [...text.matchAll(/\bcreate [a-z ]*\btable (?!\w+ partition of\b)([^(]*)/g)].flatMap(({ index, 1: name }) => {
    const [, table, columns] = /^create (?:unlogged )?table (\w+) \(([^;`]*?)\n\)/.exec(text.slice(index)) ?? [];
    if (table === undefined) throw new Error(`the columns of this table cannot be read: ${name}`);
    return /^\s*organization_id\b/m.test(columns!) ? [table] : [];
  });
}

/** Places as `path:line table`. Only statements; `create table` and the like are the migrations' own. */
export function withoutTenant(source: Source, tables: string[]): string[] {
  const table = `(?:${tables.join("|")})`;
  // A month's partition counts as its table: `runs_${month}`.
  const touches = new RegExp(`\\b(?:from|join|update|into|using)\\s+(?:only\\s+)?(${table})(?:_\\$\\{\\}|\\b)`, "i");
  const functions = functionsOf(source);
  return literalsOf(source).flatMap(({ start, text }) => {
    const [, name] = touches.exec(text) ?? [];
    // Conditions that are put together are read where they are put together.
    const whole = /\bwhere\s+\$\{\}/i.test(text) ? innermost(source, functions, start) : text;
    return name === undefined || NAMES_TENANT.test(whole) ? [] : [`${at(source, start)} ${name}`];
  });
}

const NAMES_TENANT = /\borganization_id\b/;

type Span = { start: number; end: number };

function functionsOf(source: Source): Span[] {
  const functions: Span[] = [];
  const enter = ({ start, end }: Span): void => void functions.push({ start, end });
  walk(source, { FunctionDeclaration: enter, FunctionExpression: enter, ArrowFunctionExpression: enter });
  return functions;
}

function innermost({ text }: Source, functions: Span[], offset: number): string {
  const around = functions.filter(({ start, end }) => start <= offset && offset < end);
  const [nearest] = around.toSorted((a, b) => a.end - a.start - (b.end - b.start));
  return nearest ? text.slice(nearest.start, nearest.end) : text;
}
