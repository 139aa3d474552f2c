/** The room's handle: the runs that this process advances, and what they share. */
import type { Engine } from "../engine/engine.ts";
import type { OrganizationId, RunId } from "../lib/ids.ts";
import { Beats } from "../fairness/pace.ts";
import { Rounds } from "../fairness/rounds.ts";
import type { Execution } from "./execution.ts";
import type { TaskTable } from "./frame.ts";
import { LiveTexts } from "./live-text.ts";
import { createMemory, createNeededBytes } from "./memory.ts";
import { createJournalReader, type JournalReader } from "./journal/read-journal.ts";
import type { Shared } from "./shared.ts";
import { createSignals } from "./signals.ts";
import type { OtherParts } from "./journal/part.ts";
import { createWriter } from "./journal/write.ts";

type ExecutionsOptions = {
  engine: Engine;
  /** The function that runs each kind of task. */
  tasks: TaskTable;
  /** The parts that other rooms have written with runs. */
  parts: OtherParts;
} & Pick<Shared, "database" | "expressions" | "clock" | "random" | "places" | "surroundings">;

export type Executions = Shared &
  ExecutionsOptions & {
    writer: ReturnType<typeof createWriter>;
    journals: JournalReader;
    /** Runs in the memory of this process. */
    loaded: Map<RunId, Execution>;
  };

export function createExecutions(options: ExecutionsOptions): Executions {
  const { database, clock, parts } = options;
  return {
    ...options,
    writer: createWriter(database, parts),
    journals: createJournalReader(database),
    signals: createSignals(database),
    texts: new LiveTexts(new Beats(clock)),
    rounds: new Rounds<OrganizationId>(() => clock.now()),
    memory: createMemory(),
    needs: createNeededBytes(),
    loaded: new Map(),
    draining: false,
  };
}
