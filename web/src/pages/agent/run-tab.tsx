import { useEffect, useState } from "react";
import { useNavigate } from "@tanstack/react-router";
import { Button, Menu, SegmentedControl } from "@mantine/core";
import type { AgentPageQuery } from "../../api/documents.ts";
import { useApi } from "../../api/hooks.ts";
import { Describe } from "../../forms/run/describe.tsx";
import { hasForm, RunForm } from "../../forms/run/run-form.tsx";
import { isObject, type Json, type JsonObject } from "../../lib/json.ts";
import { exactText } from "../../lib/times.ts";
import classes from "./run-tab.module.css";

type Agent = NonNullable<AgentPageQuery["agent"]>;
export type Earlier = { id: string; input: JsonObject };

type Props = { agent: Agent; earlier: Earlier | undefined; isDescribed: boolean; said: string | undefined };

/** `earlier`: the run whose input the form begins with. `isDescribed`: by a sentence, which is `said`, not by the form. */
export function RunTab({ agent, earlier, isDescribed, said }: Props) {
  const navigate = useNavigate();
  const isByWords = isDescribed && hasForm(agent);
  const { typed, isKept, setTyped } = useTyped(agent.id, earlier);
  const [round, setRound] = useState(0);
  const choose = (from: string): void => {
    setTyped(undefined);
    show({ from });
  };
  const beginAgain = (): void => {
    setTyped(undefined);
    setRound(round + 1);
    show({});
  };
  const show = (search: { from?: string; by?: "words"; text?: string }): void =>
    void navigate({ to: "/agents/$agentId", params: { agentId: agent.id }, search, replace: true, resetScroll: false });
  return (
    <div className={classes["tab"]}>
      <div className={classes["ways"]}>
        {hasForm(agent) && (
          <SegmentedControl
            size="xs"
            aria-label="How to say it"
            value={isByWords ? "words" : "form"}
            data={[
              { value: "form", label: "Form" },
              { value: "words", label: "Describe it" },
            ]}
            onChange={(by) => show(by === "words" ? { by } : {})}
          />
        )}
        {!isByWords && <EarlierInputs agent={agent} onChoose={choose} />}
        {!isByWords && isKept && typed && (
          <Button variant="subtle" size="compact-sm" onClick={beginAgain}>
            Clear what I typed
          </Button>
        )}
      </div>
      {isByWords ? (
        <Describe agent={agent} said={said} onRead={(text) => show({ by: "words", text })} />
      ) : (
        <RunForm
          key={`${round} ${earlier?.id ?? ""}`}
          agent={agent}
          initial={typed?.input ?? earlier?.input}
          onChange={(input) => setTyped({ over: earlier?.id ?? typed?.over, input })}
        />
      )}
    </div>
  );
}

/** `over`: the run whose input was there before the user typed. */
type Typed = { over: string | undefined; input: JsonObject };

/** Keeps what stands in the form while the user looks at another tab or page. `isKept`: it comes from an earlier visit. */
function useTyped(agentId: string, earlier: Earlier | undefined) {
  const { typed: all } = useApi();
  const key = `run ${agentId}`;
  const [typed, setState] = useState(() => all.get(key) as Typed | undefined);
  const [isKept] = useState(typed !== undefined);
  const setTyped = (next: Typed | undefined): void => {
    if (next) all.set(key, next);
    else all.delete(key);
    setState(next);
  };
  const isOther = earlier !== undefined && typed?.over !== earlier.id;
  // The other tabs' address does not say that the form began with an earlier input.
  useEffect(() => {
    if (isOther) all.set(key, { over: earlier.id, input: earlier.input } satisfies Typed);
  }, [all, key, isOther, earlier]);
  return { typed: isOther ? undefined : typed, isKept, setTyped };
}

function EarlierInputs({ agent: { recent }, onChoose }: { agent: Agent; onChoose: (id: string) => void }) {
  if (recent.nodes.length === 0) return null;
  return (
    <Menu position="bottom-start">
      <Menu.Target>
        <Button variant="default" size="compact-sm">
          Use an earlier input
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {recent.nodes.map((run) => (
          <Menu.Item key={run.id} onClick={() => onChoose(run.id)}>
            {exactText(Date.parse(run.createdAt))} <span className="dim">{briefOf(run.input)}</span>
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

/** The values that fit. */
const BRIEF = 48;
function briefOf(input: unknown): string {
  const given = isObject(input as Json) ? Object.values(input as JsonObject) : [];
  const text = given.map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join(", ");
  return text.length > BRIEF ? `${text.slice(0, BRIEF)}…` : text;
}
