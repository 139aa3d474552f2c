/** The further filters of runs: a form behind a button, and what is chosen as chips beside it. */
import { useNavigate } from "@tanstack/react-router";
import { Button, Popover } from "@mantine/core";
import { useQuery } from "urql";
import { FilterNamesDocument } from "../../api/documents.ts";
import { Icon, SHAPES } from "../../components/icon.tsx";
import { shortId } from "../../lib/ids.ts";
import { PERIODS } from "../../lib/periods.ts";
import { minuteText } from "../../lib/times.ts";
import { FilterForm } from "./filter-form.tsx";
import { kindText, type Change, type RunsSearch } from "./run-filter.ts";
import classes from "./runs.module.css";

type Props = { search: RunsSearch; isOpen: boolean; onOpen: (isOpen: boolean) => void };

export function Filters({ search, isOpen, onOpen }: Props) {
  const navigate = useNavigate();
  const names = useNames(search);
  const set = (change: Change): void => {
    const next = Object.entries({ ...search, ...change }).filter(([, value]) => value !== undefined);
    void navigate({ to: "/runs", search: Object.fromEntries(next) as RunsSearch, replace: true });
  };
  const { agent, by, when, from, to } = search;
  const chips: { about: string; text: string; without: Change }[] = [
    ...(agent ? [{ about: "Agent", text: names.agent ?? shortId(agent), without: { agent: undefined } }] : []),
    ...(by ? [{ about: "Started by", text: kindText(by) ?? names.by ?? shortId(by), without: { by: undefined } }] : []),
    ...(when ? [{ about: "Started", text: PERIODS[when], without: { when: undefined } }] : []),
    ...(from && !when ? [{ about: "From", text: minuteText(Date.parse(from)), without: { from: undefined } }] : []),
    ...(to && !when ? [{ about: "To", text: minuteText(Date.parse(to)), without: { to: undefined } }] : []),
  ];
  return (
    <div className={classes["more"]}>
      <Popover opened={isOpen} onChange={onOpen} position="bottom-start" trapFocus returnFocus width={320}>
        <Popover.Target>
          <Button
            variant="default"
            size="compact-sm"
            leftSection={<Icon shape={SHAPES.filter} size={14} />}
            onClick={() => onOpen(!isOpen)}
          >
            Filter
          </Button>
        </Popover.Target>
        <Popover.Dropdown aria-label="Filter">
          <FilterForm search={search} agentName={names.agent} byName={names.by} onChange={set} />
        </Popover.Dropdown>
      </Popover>
      {chips.map(({ about, text, without }) => (
        <span key={about} className={classes["filter"]}>
          <span className="dim">{about}</span>
          <span className={classes["value"]}>{text}</span>
          <button type="button" aria-label={`Remove ${about}: ${text}`} onClick={() => set(without)}>
            <Icon shape={SHAPES.close} size={12} />
          </button>
        </span>
      ))}
      {(chips.length > 1 || (chips.length > 0 && search.status)) && (
        <Button
          variant="subtle"
          size="compact-sm"
          onClick={() =>
            set({ status: undefined, agent: undefined, by: undefined, when: undefined, from: undefined, to: undefined })
          }
        >
          Clear
        </Button>
      )}
    </div>
  );
}

/** The name of an object that the address has by its id. */
function useNames({ agent, by }: RunsSearch): { agent: string | undefined; by: string | undefined } {
  const starter = by !== undefined && kindText(by) === undefined && !by.startsWith("run_") ? by : undefined;
  const [{ data }] = useQuery({
    query: FilterNamesDocument,
    variables: {
      agent: agent ?? "",
      by: starter ?? "",
      hasAgent: agent !== undefined,
      hasStarter: starter !== undefined,
    },
    pause: agent === undefined && starter === undefined,
  });
  const node = data?.node;
  return {
    agent: agent === undefined ? undefined : data?.agent?.name,
    by: starter !== undefined && node && "name" in node ? node.name : undefined,
  };
}
