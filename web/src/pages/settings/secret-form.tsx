import { useState } from "react";
import { NativeSelect, Textarea, TextInput } from "@mantine/core";
import { SetSecretDocument } from "../../api/documents.ts";
import { fieldOf, restOf } from "../../api/refusal.ts";
import { useMutate } from "../../api/hooks.ts";
import { Problem } from "../../components/notice.tsx";
import { moreChoices } from "../../forms/more-choices.ts";
import { SendOrCancel } from "../../forms/send-or-cancel.tsx";
import { useSubmit } from "../../forms/use-submit.ts";
import { useFocusBack } from "../../lib/use-focus-back.ts";
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
  const [project, setProject] = useState(projectId ?? projects[0]?.id ?? "");
  const [name, setName] = useState(given ?? "");
  const [value, setValue] = useState("");
  const { form, submit, isBusy, refusal, refusedAt } = useSubmit({
    send: async () => {
      await mutate(SetSecretDocument, { input: { projectId: project, name, value } });
      onSet(name);
    },
  });
  useFocusBack();
  const problemOf = (field: string, label: string): string | undefined => {
    const problem = refusedAt(field);
    return problem && `${label} ${problem}`;
  };
  const shown = ["value", ...(given ? [] : ["name"]), ...(given || projects.length < 2 ? [] : ["projectId"])];
  const rest = restOf(refusal, (path) => shown.includes(fieldOf(path)));
  return (
    <form ref={form} className={classes["form"]} noValidate onSubmit={submit} aria-labelledby="set-secret">
      <h2 id="set-secret">{given ? `Replace the value of ${given}` : "Set a secret"}</h2>
      {rest && <Problem refusal={rest} />}
      {!given && projects.length > 1 && (
        <ProjectField
          {...{ projects, hasMoreProjects, project }}
          problem={problemOf("projectId", "Project")}
          onChange={setProject}
        />
      )}
      {!given && (
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
      <SendOrCancel verb={given ? "Replace value" : "Set secret"} isBusy={isBusy} onCancel={onClose} />
    </form>
  );
}

type ProjectFieldProps = Pick<Props, "projects" | "hasMoreProjects"> & {
  /** The chosen one's id. It may be one that was not read. */
  project: string;
  problem: string | undefined;
  onChange: (projectId: string) => void;
};

function ProjectField({ projects, hasMoreProjects, project, problem, onChange }: ProjectFieldProps) {
  const isKnown = projects.some(({ id }) => id === project);
  return (
    <NativeSelect
      label="Project"
      value={project}
      data={[
        ...(isKnown ? [] : [{ value: project, label: "Another project" }]),
        ...projects.map(({ id, name }) => ({ value: id, label: name })),
        ...moreChoices(hasMoreProjects, "and more, older ones"),
      ]}
      error={problem}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
