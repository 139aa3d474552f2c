import { Option, type Command } from "commander";
import { OperatorError } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import { atOnce } from "../../fairness/slices.ts";
import { previewingCron, type CronInstant } from "../../triggers/kinds/cron/preview-cron.ts";
import { addCommand, type CommandLine } from "../line/command-line.ts";
import { printItems, type Table } from "../line/page.ts";
import { timeOr } from "../line/time-option.ts";

type Options = { timezone: string; from?: Date; count: number; json?: true };

/** Calculated here, without a server. */
export function addCron(program: Command, line: CommandLine): void {
  const cron = program.command("cron").description("Cron schedules.");
  addCommand(cron, "next <schedule>", "When a schedule is due next, in its time zone.")
    .option("--timezone <zone>", "an IANA time zone, like Europe/Berlin", "UTC")
    .addOption(
      new Option("--from <time>", "after this time, like 2026-03-01T00:00:00Z (default: now)").argParser(timeOf),
    )
    .addOption(
      new Option("--count <count>", `how many, up to ${LIMITS.cronPreviewInstants}`).argParser(countOf).default(5),
    )
    .action((schedule: string, options: Options) => next(line, schedule, options));
}

const TABLE: Table<CronInstant> = {
  head: ["local time", "UTC", "clock change"],
  row: ({ at, localTime, isShifted }) => [localTime, at.toISOString(), isShifted ? "moved" : ""],
  none: "this schedule does not come before the year 10000",
};

function next(line: CommandLine, schedule: string, { timezone, from, count, json }: Options): void {
  const asked = { schedule, timezone, from: from ?? new Date(line.clock.now()), count };
  const instants = atOnce(previewingCron(asked));
  printItems(line, instants, TABLE, json);
}

const timeOf = timeOr("--from must be a time with a zone, like 2026-03-01T00:00:00Z");

function countOf(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= LIMITS.cronPreviewInstants) return count;
  throw new OperatorError(`--count must be a whole number from 1 to ${LIMITS.cronPreviewInstants}`);
}
