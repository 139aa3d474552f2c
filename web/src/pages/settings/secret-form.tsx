import { useRef, useState, type SubmitEvent } from "react";
import { Button, NativeSelect, Textarea, TextInput } from "@mantine/core";
import { SetSecretDocument } from "../../api/documents.ts";
import { restOf } from "../../api/refusal.ts";
import { useMutate } from "../../api/hooks.ts";
import { useAct } from "../../api/use-act.ts";
import { Problem } from "../../components/notice.tsx";
import { moreChoices } from "../../forms/more-choices.ts";
import { useFocusBack } from "../../lib/use-focus-back.ts";
import { useFocusOnProblem } from "../../lib/use-focus-on-problem.ts";
import classes from "./settings.module.css";

type Props = {
  projects: readonly { id: string; name: string }[];
  hasMoreProjects: boolean | undefined;
  projectId: string | undefined;
  /** The secret that gets another value; undefined for a new one. */
  name: string | undefined;
  onSet: (name: string) => void;
  onClose: () => void;
};

export function SecretForm({ projects, hasMoreProjects, projectId, name: given, onSet, onClose }: Props) {
  const mutate = useMutate();
  const { act, isBusy, refusal } = useAct();
  const [project, setProject] = useState(projectId ?? projects[0]?.id ?? "");
  const [name, setName] = useState(given ?? "");
  const [value, setValue] = useState("");
  const [tried, setTried] = useState(0);
  const form = useRef<HTMLFormElement>(null);
  useFocusBack();
  useFocusOnProblem(form, tried, refusal);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (isBusy) return;
    setTried(tried + 1);
    const isSet = await act(() => mutate(SetSecretDocument, { input: { projectId: project, name, value } }));
    if (isSet) onSet(name);
  };
  const problemOf = (field: string, label: string): string | undefined => {
    const found = refusal?.fields.find(({ path }) => path === `input.${field}`);
    return found && `${label} ${found.message}`;
  };
  const isKnown = projects.some(({ id }) => id === project);
  const drawn = ["value", ...(given ? [] : ["name"]), ...(given || projects.length < 2 ? [] : ["projectId"])];
  const rest = restOf(refusal, (path) => drawn.includes(path.split(".")[1] ?? ""));
  return (
    <form
      ref={form}
      className={classes["form"]}
      noValidate
      onSubmit={(event) => void submit(event)}
      aria-labelledby="set-secret"
    >
      <h2 id="set-secret">{given ? `Replace the value of ${given}` : "Set a secret"}</h2>
      {rest && <Problem refusal={rest} />}
      {!given && (
        <>
          {projects.length > 1 && (
            <NativeSelect
              label="Project"
              value={project}
              data={[
                ...(isKnown ? [] : [{ value: project, label: "Another project" }]),
                ...projects.map((one) => ({ value: one.id, label: one.name })),
                ...moreChoices(hasMoreProjects, "and more, older ones"),
              ]}
              error={problemOf("projectId", "Project")}
              onChange={(event) => setProject(event.currentTarget.value)}
            />
          )}
          <TextInput
            label="Name"
            description="The name in definitions, such as shopToken. An existing name gets the new value."
            value={name}
            autoComplete="off"
            spellCheck={false}
            // oxlint-disable-next-line jsx-a11y/no-autofocus -- one came here for it
            autoFocus
            error={problemOf("name", "Name")}
            onChange={(event) => setName(event.currentTarget.value)}
          />
        </>
      )}
      <Textarea
        label="Value"
        description="Up to 8,192 bytes; several lines are fine. It is never shown again."
        className={classes["hidden"]}
        rows={3}
        value={value}
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        error={problemOf("value", "Value")}
        onChange={(event) => setValue(event.currentTarget.value)}
      />
      <div className={classes["buttons"]}>
        <Button type="submit" loading={isBusy}>
          {given ? "Replace value" : "Set secret"}
        </Button>
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
      </div>
    </form>
  );
}
