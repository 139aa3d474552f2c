import { useState } from "react";
import { useNavigate } from "@tanstack/react-router";
import { Button, Menu, SegmentedControl } from "@mantine/core";
import type { AgentPageQuery } from "../../api/documents.ts";
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
  /** As it was typed over an earlier input or none, for who looks at the other way meanwhile. */
  const [typed, setTyped] = useState<{ over: string | undefined; input: JsonObject }>();
  const over = earlier?.id;
  const choose = (from: string): void => {
    setTyped(undefined);
    show({ from });
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
      </div>
      {isByWords ? (
        <Describe agent={agent} said={said} onRead={(text) => show({ by: "words", text })} />
      ) : (
        <RunForm
          key={over ?? ""}
          agent={agent}
          initial={typed && typed.over === over ? typed.input : earlier?.input}
          onChange={(input) => setTyped({ over, input })}
        />
      )}
    </div>
  );
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

/** Its values, as many as fit. */
const BRIEF = 48;
function briefOf(input: unknown): string {
  const given = isObject(input as Json) ? Object.values(input as JsonObject) : [];
  const text = given.map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join(", ");
  return text.length > BRIEF ? `${text.slice(0, BRIEF)}…` : text;
}
