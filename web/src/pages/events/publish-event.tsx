/** An event that a person publishes, to see what it starts. */
import { useState } from "react";
import { useNavigate } from "@tanstack/react-router";
import { Button, TextInput } from "@mantine/core";
import { PublishEventDocument } from "../../api/documents.ts";
import { useMutate } from "../../api/hooks.ts";
import { fieldOf, restOf } from "../../api/refusal.ts";
import { Problem } from "../../components/notice.tsx";
import { JsonField } from "../../forms/json-field.tsx";
import { useSubmit } from "../../forms/use-submit.ts";
import { objectIn, problemInObject } from "../../lib/json.ts";
import { newKey } from "../../lib/new-key.ts";
import classes from "./events.module.css";

type Said = { source: string; event: string; data: string };

export function PublishEvent() {
  const mutate = useMutate();
  const navigate = useNavigate();
  const [said, setSaid] = useState<Said>({ source: "", event: "", data: "{}" });
  // The same event if its answer was lost.
  const [key, setKey] = useState(newKey);
  const problems = problemsIn(said);
  const { form, submit, isBusy, refusal, refusedAt, isTried } = useSubmit({
    check: () => Object.keys(problems).length === 0,
    send: async () => {
      const input = { source: said.source.trim(), event: said.event.trim(), id: key, data: objectIn(said.data)! };
      const { publishEvent } = await mutate(PublishEventDocument, { input });
      await navigate({ to: "/events/$eventId", params: { eventId: publishEvent!.id } });
    },
  });
  const change = (name: keyof Said, value: string): void => {
    setSaid({ ...said, [name]: value });
    setKey(newKey());
  };
  const problemOf = (name: keyof Said, label: string): string | undefined => {
    const problem = isTried ? (problems[name] ?? refusedAt(name)) : undefined;
    return problem && `${label} ${problem}`;
  };
  const rest = restOf(refusal, (path) => fieldOf(path) in said);
  return (
    <form ref={form} noValidate className={classes["form"]} aria-label="Publish a test event" onSubmit={submit}>
      {rest && <Problem refusal={rest} />}
      <p className="dim">It fires the triggers that match it, as any event does.</p>
      <TextInput
        label="Source"
        description="Where it happened, such as shop."
        autoComplete="off"
        value={said.source}
        error={problemOf("source", "Source")}
        onChange={(event) => change("source", event.currentTarget.value)}
      />
      <TextInput
        label="Event"
        description="What happened, such as order.created."
        autoComplete="off"
        value={said.event}
        error={problemOf("event", "Event")}
        onChange={(event) => change("event", event.currentTarget.value)}
      />
      <JsonField
        label="Data"
        minRows={3}
        text={said.data}
        error={problemOf("data", "Data")}
        onChange={(value) => change("data", value)}
      />
      <Button type="submit" loading={isBusy}>
        Publish the event
      </Button>
    </form>
  );
}

function problemsIn({ source, event, data }: Said): Partial<Said> {
  const problem = problemInObject(data);
  return {
    ...(source.trim() === "" && { source: "is required" }),
    ...(event.trim() === "" && { event: "is required" }),
    ...(problem && { data: problem }),
  };
}
