/**
 * Free space of the data folder. A full disk stops PostgreSQL, so new runs are refused earlier: open runs may still end,
 * and a ballast file is removed for them when hardly any space is left.
 */
import { randomFillSync } from "node:crypto";
import fs from "node:fs/promises";
import path from "node:path";
import type { Clock } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log/log.ts";
import { Loop } from "../lib/loops/loop.ts";

export type SpaceOptions = {
  folder: string;
  clock: Clock;
  log: Log;
  /** Free bytes of a folder's file system, for users that are not root. */
  readFreeBytes: (folder: string) => Promise<number>;
  /** New runs are refused below this: several times what PostgreSQL can write between two looks. */
  lowBytes: number;
  /** The ballast is removed below this. */
  criticalBytes: number;
  ballastBytes: number;
  everyMs: number;
  /** The ballast is written this long after the start, which has more important things to write. */
  ballastAfterMs: number;
};

export type Space = {
  /** False while new runs are to be refused with UNAVAILABLE. */
  hasSpace(): boolean;
  loops: readonly Loop[];
} & AsyncDisposable;

const MIB = 1024 * 1024;
const DEFAULTS = {
  lowBytes: 192 * MIB,
  criticalBytes: 64 * MIB,
  ballastBytes: 64 * MIB,
  everyMs: 1_000,
  ballastAfterMs: 10_000,
};
/** Runs are accepted again only with this much more than at the refusal, so that the answer doesn't flicker. */
const RECOVERY = 1.25;

export const unlimitedSpace: Space = { hasSpace: () => true, loops: [], [Symbol.asyncDispose]: async () => {} };

export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await fs.statfs(folder);
  return bavail * bsize;
}

/** Looks once before it resolves, then every second until disposed. */
export async function watchSpace(
  watched: Pick<SpaceOptions, "folder" | "clock" | "log"> & Partial<SpaceOptions>,
): Promise<Space> {
  const options: SpaceOptions = { ...DEFAULTS, readFreeBytes: freeBytes, ...watched };
  const { clock, log } = options;
  const ballastFrom = clock.now() + options.ballastAfterMs;
  let low = false;

  const look = async (): Promise<void> => {
    const free = await options.readFreeBytes(options.folder);
    const held = await ballastSize(options.folder);
    const isBack = free - (options.ballastBytes - held) >= options.lowBytes * RECOVERY;
    if (!low && free < options.lowBytes) {
      low = true;
      log.error({ freeBytes: free }, "the disk is nearly full: new runs are refused until there is space");
    } else if (low && isBack) {
      low = false;
      log.info({ freeBytes: free }, "the disk has space again: new runs are accepted");
    }
    if (free < options.criticalBytes && held > 0) await dropBallast(options.folder);
    if (isBack && held < options.ballastBytes && clock.now() >= ballastFrom) await makeBallast(options);
  };
  const failed = "free space of the data folder is not known";
  await look().catch((error: unknown) => log.warn({ reason: messageOf(error) }, failed));
  const { everyMs } = options;
  const loop = new Loop({ clock, log, name: "disk-space", everyMs, look, failed }).start(clock.now() + everyMs);
  return { hasSpace: () => !low, loops: [loop], [Symbol.asyncDispose]: () => loop[Symbol.asyncDispose]() };
}

/** Removes the ballast before PostgreSQL starts: on a full disk it could not start. */
export async function makeRoomToStart(
  folder: string,
  { readFreeBytes = freeBytes, criticalBytes = DEFAULTS.criticalBytes }: Partial<SpaceOptions> = {},
): Promise<void> {
  if ((await readFreeBytes(folder)) < criticalBytes) await dropBallast(folder);
}

const ballastPath = (folder: string): string => path.join(folder, "ballast");
const dropBallast = (folder: string): Promise<void> => fs.rm(ballastPath(folder), { force: true });
const ballastSize = (folder: string): Promise<number> =>
  fs.stat(ballastPath(folder)).then(
    (stat) => stat.size,
    () => 0,
  );

/** Random bytes: a file system with compression or sparse files would reserve no room for zeros. */
async function makeBallast({ folder, ballastBytes }: SpaceOptions): Promise<void> {
  const block = randomFillSync(Buffer.alloc(MIB));
  const file = await fs.open(ballastPath(folder), "w", 0o600);
  try {
    for (let written = 0; written < ballastBytes; written += block.length) {
      await file.write(block.subarray(0, ballastBytes - written));
    }
  } finally {
    await file.close();
  }
}
