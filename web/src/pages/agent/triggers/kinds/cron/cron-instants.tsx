import type { TriggerPartFragment } from "../../../../../api/documents.ts";
import classes from "./cron.module.css";

type Instants = TriggerPartFragment["nextInstants"];

const OPTIONS: Intl.DateTimeFormatOptions = {
  weekday: "short",
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
  timeZoneName: "short",
};
const own = new Intl.DateTimeFormat(undefined, OPTIONS);
const ownZone = own.resolvedOptions().timeZone;

/** When a schedule comes next: on the clocks of its zone, and on the reader's if these differ. */
export function CronInstants({ instants, timezone }: { instants: Instants; timezone: string }) {
  const isOwn = timezone === ownZone;
  const there = new Intl.DateTimeFormat(undefined, { ...OPTIONS, timeZone: timezone });
  const hasShifted = instants.some(({ isShifted }) => isShifted);
  if (instants.length === 0) return <p className="dim">No upcoming times.</p>;
  return (
    <table className={classes["instants"]}>
      <caption className="visually-hidden">The next five times</caption>
      <thead>
        <tr>
          <th scope="col">{timezone}</th>
          {!isOwn && <th scope="col">{ownZone}, your zone</th>}
          {hasShifted && <th scope="col" aria-label="Clock change" />}
        </tr>
      </thead>
      <tbody>
        {instants.map(({ at, isShifted }) => (
          <tr key={at}>
            <td>
              <time dateTime={at}>{there.format(new Date(at))}</time>
            </td>
            {!isOwn && <td className="dim">{own.format(new Date(at))}</td>}
            {isShifted && <td className={classes["shifted"]}>moved by a clock change</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
