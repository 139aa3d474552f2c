/** A file that a command is given: a path from where the command was typed, or `-` for stdin. */
import { createReadStream } from "node:fs";
import path from "node:path";
import type { CommandLine } from "./command-line.ts";

type Around = Pick<CommandLine, "cwd" | "stdin">;

const STDIN = "-";

/** For messages. */
export const nameOf = (file: string): string => (file === STDIN ? "stdin" : file);

export const openGiven = ({ cwd, stdin }: Around, file: string): NodeJS.ReadableStream =>
  file === STDIN ? stdin() : createReadStream(path.resolve(cwd, file));

/** Undefined if it has more bytes than that: no more of it is read. */
export const readGiven = (around: Around, file: string, mostBytes: number): Promise<Buffer | undefined> =>
  readAtMost(openGiven(around, file), mostBytes);

/** Undefined if there are more bytes than that: no more of them are read. */
export async function readAtMost(stream: NodeJS.ReadableStream, mostBytes: number): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of stream as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > mostBytes) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
