/** A trigger's firings so far, newest first: the run, or why there is none. */
import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import {
  OlderFiringsDocument,
  ReplayFiringDocument,
  type FiringRowFragment,
  type TriggerPartFragment,
} from "../../../api/documents.ts";
import { useMutate } from "../../../api/hooks.ts";
import { useAct } from "../../../api/use-act.ts";
import { Problem } from "../../../components/notice.tsx";
import { Older, useOlder } from "../../../components/older.tsx";
import { StatusMark } from "../../../components/status-mark.tsx";
import { Time } from "../../../components/time.tsx";
import { shortId } from "../../../lib/ids.ts";
import classes from "./triggers-tab.module.css";

/** As triggers.graphql asks. */
const NEWEST = 5;

type Props = { trigger: Pick<TriggerPartFragment, "id" | "firings">; mayReplay: boolean };

export function Firings({ trigger: { id, firings }, mayReplay }: Props) {
  const { shown, older, isFirst } = useOlder({
    id,
    newest: firings,
    query: OlderFiringsDocument,
    pageOf: (data) => data.trigger!.firings,
  });
  if (firings.nodes.length === 0) return null;
  // Whatever comes by itself pushes another one out.
  const isThere = older.isThere || (isFirst && shown.length === NEWEST);
  return (
    <div>
      <table className={classes["firings"]}>
        <caption className="visually-hidden">Firings, newest first</caption>
        <thead className="visually-hidden">
          <tr>
            {["Outcome", "When", "Why", "Run", ...(mayReplay ? ["Replay"] : [])].map((word) => (
              <th key={word} scope="col">
                {word}
              </th>
            ))}
          </tr>
        </thead>
        {shown.map((firing) => (
          <Line key={firing.id} firing={firing} mayReplay={mayReplay} />
        ))}
      </table>
      <Older word="Older firings" older={{ ...older, isThere }} />
    </div>
  );
}

function Line({ firing, mayReplay }: { firing: FiringRowFragment; mayReplay: boolean }) {
  const { id, outcome, at, run } = firing;
  const mutate = useMutate();
  const { act, isBusy, refusal } = useAct();
  return (
    <tbody>
      <tr>
        <td>
          <StatusMark status={outcome} />
        </td>
        <td>
          <Time at={at} />
        </td>
        <td className={classes["why"]}>{whyOf(firing)}</td>
        <td>
          {run && (
            <Link to="/runs/$runId" params={{ runId: run.id }} className="link">
              {shortId(run.id)}
            </Link>
          )}
        </td>
        {mayReplay && (
          <td className={classes["action"]}>
            <Button
              variant="default"
              size="compact-sm"
              loading={isBusy}
              onClick={() => void act(() => mutate(ReplayFiringDocument, { input: { firingId: id } }))}
            >
              Replay
            </Button>
          </td>
        )}
      </tr>
      {refusal && (
        <tr>
          <td colSpan={5}>
            <Problem refusal={refusal} />
          </td>
        </tr>
      )}
    </tbody>
  );
}

const whyOf = ({ outcome, message, policy, skipped, delivery }: FiringRowFragment): string =>
  [
    message ?? (outcome === "skipped" && policy ? `by the policy ${policy}` : ""),
    skipped !== null && skipped > 1 ? `${skipped} instants` : "",
    delivery ? `delivery ${delivery}` : "",
  ]
    .filter(Boolean)
    .join(", ");
