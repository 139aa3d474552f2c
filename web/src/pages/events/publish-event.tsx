/** An event that a person publishes, to see what it starts. */
import { useState } from "react";
import { useNavigate } from "@tanstack/react-router";
import { Button, JsonInput, TextInput } from "@mantine/core";
import { PublishEventDocument } from "../../api/documents.ts";
import { useMutate } from "../../api/hooks.ts";
import { Problem } from "../../components/notice.tsx";
import { useSubmit } from "../../forms/use-submit.ts";
import { objectIn } from "../../lib/json.ts";
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
  const { form, submit, isBusy, refusal, isTried } = useSubmit({
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
  return (
    <form ref={form} noValidate className={classes["form"]} aria-label="Publish a test event" onSubmit={submit}>
      {refusal && <Problem refusal={refusal} />}
      <p className="dim">It fires the triggers that match it, as any event does.</p>
      <TextInput
        label="Source"
        description="Where it happened, such as shop."
        autoComplete="off"
        value={said.source}
        error={isTried && problems.source}
        onChange={(event) => change("source", event.currentTarget.value)}
      />
      <TextInput
        label="Event"
        description="What happened, such as order.created."
        autoComplete="off"
        value={said.event}
        error={isTried && problems.event}
        onChange={(event) => change("event", event.currentTarget.value)}
      />
      <JsonInput
        label="Data"
        autosize
        minRows={3}
        value={said.data}
        error={isTried && problems.data}
        onChange={(value) => change("data", value)}
      />
      <Button type="submit" loading={isBusy}>
        Publish the event
      </Button>
    </form>
  );
}

const problemsIn = ({ source, event, data }: Said): Partial<Said> => ({
  ...(source.trim() === "" && { source: "Source is required" }),
  ...(event.trim() === "" && { event: "Event is required" }),
  ...(!objectIn(data) && { data: "The data is not a JSON object" }),
});
