import { useEffect, useState } from "react";
import type { AgentRowFragment } from "../api/documents.ts";
import { loadQuietly } from "../lib/new-files.ts";
import { scheduleWords, zoneWord } from "../lib/schedule-words.ts";
import { Icon, SHAPES } from "./icon.tsx";
import { Time } from "./time.tsx";
import { TRIGGER_SHAPES } from "./trigger-shapes.ts";
import classes from "./trigger-chips.module.css";

type Trigger = AgentRowFragment["triggers"]["nodes"][number];

const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
/** Chips that fit in one line. */
const MOST = 2;

/** An agent's triggers, in one line: active ones first. `hasMore`: it has more than these. */
export function TriggerChips({ triggers, hasMore }: { triggers: readonly Trigger[]; hasMore: boolean }) {
  const ordered = triggers.toSorted((one, other) => one.status.localeCompare(other.status));
  const others = ordered.slice(MOST);
  return (
    <span className={classes["chips"]}>
      {ordered.slice(0, MOST).map((trigger) => (
        <span key={trigger.id} className={classes["chip"]} title={trigger.name}>
          <Icon shape={TRIGGER_SHAPES[trigger.type] ?? SHAPES.more} size={12} />
          <span className={classes["words"]}>
            {trigger.schedule ? <Schedule {...trigger} schedule={trigger.schedule} /> : (trigger.event ?? trigger.type)}
            {trigger.status === "paused" && <span className="dim"> · paused</span>}
          </span>
        </span>
      ))}
      {others.length > 0 && (
        <span className={classes["others"]} title={others.map(({ name }) => name).join(", ")}>
          +{others.length}
          {hasMore && " or more"}
        </span>
      )}
    </span>
  );
}

type ScheduleProps = Pick<Trigger, "timezone" | "nextDueAt"> & { schedule: string };

function Schedule({ schedule, timezone, nextDueAt }: ScheduleProps) {
  const few = scheduleWords(schedule);
  const [sentence, setSentence] = useState<string>();
  useEffect(() => {
    if (few !== undefined) return;
    // It weighs 8 kB and few schedules need it, so it comes after the first paint.
    void loadQuietly(async () => {
      const { default: cronstrue } = await import("cronstrue");
      setSentence(cronstrue.toString(schedule, { use24HourTimeFormat: true, throwExceptionOnParseError: false }));
    });
  }, [few, schedule]);
  const zone = timezone && zoneWord(timezone, ZONE);
  return (
    <>
      {few ?? sentence ?? schedule}
      {zone && ` ${zone}`}
      {nextDueAt && (
        <span className="dim">
          {" · "}
          <Time at={nextDueAt} />
        </span>
      )}
    </>
  );
}
