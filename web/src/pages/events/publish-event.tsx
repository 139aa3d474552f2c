/** An event that a person publishes, to see what it starts. */
import { useRef, useState, type SubmitEvent } from "react";
import { useNavigate } from "@tanstack/react-router";
import { Button, JsonInput, TextInput } from "@mantine/core";
import { PublishEventDocument } from "../../api/documents.ts";
import { useMutate } from "../../api/hooks.ts";
import { useAct } from "../../api/use-act.ts";
import { Problem } from "../../components/notice.tsx";
import { objectIn } from "../../lib/json.ts";
import { useFocusOnProblem } from "../../lib/use-focus-on-problem.ts";
import { newKey } from "../../lib/new-key.ts";
import classes from "./events.module.css";

type Said = { source: string; event: string; data: string };

export function PublishEvent() {
  const mutate = useMutate();
  const navigate = useNavigate();
  const { act, isBusy, refusal } = useAct();
  const [said, setSaid] = useState<Said>({ source: "", event: "", data: "{}" });
  const [tried, setTried] = useState(0);
  const form = useRef<HTMLFormElement>(null);
  useFocusOnProblem(form, tried, refusal);
  // The same event if its answer was lost.
  const [key, setKey] = useState(newKey);
  const data = objectIn(said.data);
  const problemOf = (name: keyof Said): string | undefined => {
    if (tried === 0) return undefined;
    if (name === "data") return data ? undefined : "The data is not a JSON object";
    return said[name].trim() === "" ? `${name === "source" ? "Source" : "Event"} is required` : undefined;
  };
  const change = (name: keyof Said, value: string): void => {
    setSaid({ ...said, [name]: value });
    setKey(newKey());
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    setTried(tried + 1);
    if (isBusy || !data || said.source.trim() === "" || said.event.trim() === "") return;
    void act(async () => {
      const input = { source: said.source.trim(), event: said.event.trim(), id: key, data };
      const { publishEvent } = await mutate(PublishEventDocument, { input });
      await navigate({ to: "/events/$eventId", params: { eventId: publishEvent!.id } });
    });
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
        error={problemOf("source")}
        onChange={(event) => change("source", event.currentTarget.value)}
      />
      <TextInput
        label="Event"
        description="What happened, such as order.created."
        autoComplete="off"
        value={said.event}
        error={problemOf("event")}
        onChange={(event) => change("event", event.currentTarget.value)}
      />
      <JsonInput
        label="Data"
        autosize
        minRows={3}
        value={said.data}
        error={problemOf("data")}
        onChange={(value) => change("data", value)}
      />
      <Button type="submit" loading={isBusy}>
        Publish the event
      </Button>
    </form>
  );
}
