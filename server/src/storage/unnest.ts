/**
 * Rows as parallel arrays, so that any number of them is one prepared statement: `unnest($1::uuid[], $2::text[], …)`.
 * Times go as ms (float8) and become timestamptz in the select: node-postgres writes Dates in local time, slowly.
 */
import { BinaryArrays, type ColumnType } from "./binary-arrays.ts";

const SQL_TYPE: Record<ColumnType, string> = {
  uuid: "uuid",
  text: "text",
  int4: "int4",
  bool: "bool",
  json: "text",
  ms: "float8",
  hex: "text",
};

/** A column's type in the statement; `Value` is what a row holds for it. */
export type Column<Value> = { readonly type: ColumnType; readonly isRare?: boolean; readonly value?: Value };

const column = <Value>(type: ColumnType): Column<Value> => ({ type });
export const uuid = <Id extends string>(): Column<Id> => column("uuid");
export const text = <Text extends string = string>(): Column<Text> => column("text");
export const int4 = (): Column<number> => column("int4");
export const bool = (): Column<boolean> => column("bool");
/** JSON as text. */
export const json = (): Column<string> => column("json");
/** Milliseconds since 1970; a timestamptz in the table. */
export const ms = (): Column<number> => column("ms");
/** Bytes, written as hexadecimal digits. */
export const hex = (): Column<string> => column("hex");
export const nullable = <Value>({ type }: Column<Value>): Column<Value | null> => column(type);

/** Null in nearly every row, so most statements leave its array out (`RowSet.isPlain`). */
export const rare = <Value>({ type }: Column<Value>): Column<Value | null> => ({ type, isRare: true });

type Columns = Record<string, Column<unknown>>;

/** The row that these columns make. */
export type RowOf<Described extends Columns> = {
  -readonly [Name in keyof Described]: Described[Name] extends Column<infer Value> ? Value : never;
};

export class RowSet<Row extends Record<string, unknown>> {
  readonly alias: string;
  /** In parameter order. */
  readonly names: readonly (keyof Row & string)[];
  readonly #columns: [keyof Row & string, ColumnType][];
  readonly #rare: ReadonlySet<string>;

  /** `alias` names the rows in the statement; `columns` are the fields of a row, in the order of the parameters. */
  constructor(alias: string, columns: { [Name in keyof Row & string]: Column<Row[Name]> }) {
    this.alias = alias;
    this.names = Object.keys(columns);
    this.#columns = this.names.map((name) => [name, columns[name].type]);
    this.#rare = new Set(this.names.filter((name) => columns[name].isRare));
  }

  /** How many parameters `from` has. */
  parameters(isPlain = false): number {
    return this.#columns.length - (isPlain ? this.#rare.size : 0);
  }

  /**
   * Whether every rare column is null in all these rows. PostgreSQL puts each array of an `unnest` into a store of its own, of 16 kB
   * whatever is in it, so an array left out saves more than its bytes.
   */
  isPlain(rows: readonly Row[]): boolean {
    if (this.#rare.size === 0) return false;
    for (const name of this.#rare) if (rows.some((row) => row[name] !== null && row[name] !== undefined)) return false;
    return true;
  }

  /** `unnest($first::uuid[], …) as alias(id, …)`; for plain rows a subquery, in which the rare columns are null. */
  from(first: number, isPlain = false): string {
    const columns = this.#columns.filter(([name]) => !(isPlain && this.#rare.has(name)));
    const arrays = columns.map(([, type], index) => `$${first + index}::${SQL_TYPE[type]}[]`);
    const names = columns.map(([name]) => name);
    const rows = `unnest(${arrays.join(", ")}) as ${this.alias}(${names.join(", ")})`;
    if (!isPlain) return rows;
    const nulls = this.#columns.flatMap(([name, type]) =>
      this.#rare.has(name) ? [`null::${SQL_TYPE[type]} as ${name}`] : [],
    );
    return `(select ${[...names, ...nulls].join(", ")} from ${rows}) as ${this.alias}`;
  }

  /** `(values ($first::uuid, …), …) as alias(id, …)`: for a few rows, a third less work for PostgreSQL than arrays. */
  listed(first: number, rows: number): string {
    let next = first;
    const row = (): string => `(${this.#columns.map(([, type]) => `$${next++}::${SQL_TYPE[type]}`).join(", ")})`;
    return `(values ${Array.from({ length: rows }, row).join(", ")}) as ${this.alias}(${this.list})`;
  }

  listedValues(rows: readonly Row[]): unknown[] {
    return rows.flatMap((row) => this.#columns.map(([name]) => row[name]));
  }

  /** `id, organization_id, …` */
  get list(): string {
    return this.names.join(", ");
  }

  /** All columns as the table has them, in the order of `list`. */
  get selected(): string {
    return this.names.map((name) => this.column(name)).join(", ");
  }

  /** The column as the table has it. */
  column(name: keyof Row & string): string {
    const type = this.#columns.find(([candidate]) => candidate === name)![1];
    const raw = `${this.alias}.${name}`;
    if (type === "ms") return `to_timestamp(${raw} / 1000.0)`;
    if (type === "json") return `${raw}::json`;
    if (type === "hex") return `decode(${raw}, 'hex')`;
    return raw;
  }

  /** One binary array per column that `from` has: a Buffer goes to PostgreSQL as it is. */
  values(rows: readonly Row[], isPlain = false): Buffer[] {
    const arrays = new BinaryArrays();
    for (const [name, type] of this.#columns) if (!(isPlain && this.#rare.has(name))) arrays.add(rows, name, type);
    return arrays.take();
  }
}
