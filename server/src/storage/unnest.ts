/**
 * Rows as one parameter, an array of a composite type, so that any number of them is one prepared statement:
 * `unnest($1::start_row[]) as s`. An array for each column costs PostgreSQL a third more, and a store of its own for each array.
 */
import { binaryRows, type ColumnType } from "./binary-rows.ts";

/** A column's type; `Value` is what a row holds for it. */
export type Column<Value> = { readonly type: ColumnType; readonly value?: Value };

const column = <Value>(type: ColumnType): Column<Value> => ({ type });
export const uuid = <Id extends string>(): Column<Id> => column("uuid");
export const text = <Text extends string = string>(): Column<Text> => column("text");
export const int4 = (): Column<number> => column("int4");
export const bool = (): Column<boolean> => column("bool");
/** JSON as text. */
export const json = (): Column<string> => column("json");
/** Milliseconds since 1970; a timestamptz for PostgreSQL. */
export const ms = (): Column<number> => column("ms");
/** Bytes, written as hexadecimal digits. */
export const hex = (): Column<string> => column("hex");
export const nullable = <Value>({ type }: Column<Value>): Column<Value | null> => column(type);

type Columns = Record<string, Column<unknown>>;

/** The row that these columns make. */
export type RowOf<Described extends Columns> = {
  -readonly [Name in keyof Described]: Described[Name] extends Column<infer Value> ? Value : never;
};

export class RowSet<Row extends Record<string, unknown>> {
  readonly alias: string;
  readonly type: string;
  readonly columns: readonly (readonly [name: keyof Row & string, type: ColumnType])[];

  /**
   * `alias` names the rows in a statement. `type` is the composite type that a migration made of them; `columns` has its columns, in
   * its order. Another column is another type, made by a migration: a process of the version before may still write the former one.
   */
  constructor(alias: string, type: string, columns: { [Name in keyof Row & string]: Column<Row[Name]> }) {
    this.alias = alias;
    this.type = type;
    this.columns = Object.keys(columns).map((name) => [name, columns[name as keyof Row & string].type]);
  }

  /** `unnest($1::start_row[]) as s` */
  from(parameter: number): string {
    return `unnest($${parameter}::${this.type}[]) as ${this.alias}`;
  }

  /** `id, organization_id, …` */
  get list(): string {
    return this.columns.map(([name]) => name).join(", ");
  }

  /** `s.id, s.organization_id, …` */
  get selected(): string {
    return this.columns.map(([name]) => `${this.alias}.${name}`).join(", ");
  }

  /** The parameter: a Buffer goes to PostgreSQL as it is. */
  value(rows: readonly Row[]): Buffer {
    return binaryRows(rows, this.columns);
  }
}
