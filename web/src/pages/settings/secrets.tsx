/** Names of what agents authenticate with, by project; values go in and never come out. */
import { useState, type ReactNode } from "react";
import { Link, useNavigate } from "@tanstack/react-router";
import { Button } from "@mantine/core";
import type { UseQueryState } from "urql";
import {
  DeleteSecretDocument,
  SecretsDocument,
  type SecretRowFragment,
  type SecretsQuery,
} from "../../api/documents.ts";
import { useMutate, useRead } from "../../api/hooks.ts";
import { Confirm } from "../../components/confirm.tsx";
import { Empty } from "../../components/notice.tsx";
import { List } from "../../components/table/list.tsx";
import { pageIn } from "../../components/table/rows.tsx";
import type { Column } from "../../components/table/table.tsx";
import { Time } from "../../components/time.tsx";
import { WithKey } from "../../components/with-key.tsx";
import { ToCopy } from "../../components/to-copy.tsx";
import { ListFoot } from "./list-foot.tsx";
import type { PartProps, SettingsSearch } from "./part.ts";
import { SecretForm } from "./secret-form.tsx";
import classes from "./settings.module.css";
import type { Caller } from "./use-caller.ts";

const COLUMNS: readonly Column[] = [
  { word: "Name" },
  { word: "Used by" },
  { word: "Set" },
  { word: "Actions", isSilent: true },
];

export function Secrets({ caller, search }: PartProps) {
  const { project, after, make, secret: secretId } = search;
  const [asked, readAgain] = useRead({
    query: SecretsDocument,
    variables: { projectId: project ?? null, after: after ?? null },
    requestPolicy: "cache-and-network",
  });
  const { data } = asked;
  const navigate = useNavigate();
  const [said, setSaid] = useState("");
  const show = (next: SettingsSearch): void =>
    void navigate({ to: "/settings/$part", params: { part: "secrets" }, search: next });
  const base: SettingsSearch = project ? { project } : {};
  /** The one that gets another value; the form is for a new one without it. */
  const changed = data?.secrets?.nodes.find(({ id }) => id === secretId);
  if (make && data && (changed || !secretId))
    return (
      <SecretForm
        projects={data.projects?.nodes ?? []}
        hasMoreProjects={data.projects?.pageInfo.hasNextPage}
        projectId={changed?.project.id ?? project}
        name={changed?.name}
        onSet={(name) => {
          setSaid(`${name} is set. Calls that begin from now on use it.`);
          readAgain();
          show(base);
        }}
        onClose={() => show(base)}
      />
    );
  return (
    <SecretList
      {...{ asked, readAgain, caller, base, after, said }}
      onSay={setSaid}
      onOpen={(secret) => {
        setSaid("");
        show({ ...base, ...(after && { after }), make: true, ...(secret && { secret: secret.id }) });
      }}
    />
  );
}

type ListProps = {
  caller: Caller;
  asked: Omit<UseQueryState<SecretsQuery>, "operation">;
  readAgain: () => void;
  base: SettingsSearch;
  after: string | undefined;
  /** The last thing that was done, in words. */
  said: string;
  onSay: (said: string) => void;
  /** The form: for another value of a secret, or for a new one. */
  onOpen: (secret?: SecretRowFragment) => void;
};

function SecretList({ caller, asked, readAgain, base, after, said, onSay, onOpen }: ListProps) {
  const [ending, setEnding] = useState<SecretRowFragment>();
  const { projects, secrets } = asked.data ?? {};
  const count = secrets?.nodes.length;
  return (
    <div className={classes["part"]}>
      <div className={classes["head"]}>
        <p>
          Passwords, keys and secret addresses for the calls of agents. Values are encrypted, and nobody can read them
          back.
        </p>
        {secrets && count !== 0 && <Button onClick={() => onOpen()}>Set a secret</Button>}
      </div>
      <div role="status">{said && <p>{said}</p>}</div>
      <List
        what="the secrets"
        page={pageIn(asked, secrets?.nodes, readAgain)}
        columns={COLUMNS}
        className={`${classes["table"]} ${classes["actions"]}`}
        renderRow={(secret) => <SecretRow key={secret.id} secret={secret} onChange={onOpen} onEnd={setEnding} />}
        inTables={byProject}
        empty={<NoSecrets project={projects?.nodes[0]?.handle} onSet={() => onOpen()} />}
        below={
          <ListFoot
            {...{ asked, readAgain, caller }}
            isEmpty={count === 0}
            pages={{ part: "secrets", base, after, next: secrets?.pageInfo }}
          />
        }
      />
      {ending && (
        <DeleteSecret
          secret={ending}
          onDeleted={() => {
            onSay(`${ending.name} is deleted.`);
            readAgain();
          }}
          onClose={() => setEnding(undefined)}
        />
      )}
    </div>
  );
}

const byProject = (
  secrets: readonly SecretRowFragment[],
  tableOf: (some: readonly SecretRowFragment[]) => ReactNode,
): ReactNode =>
  [...Map.groupBy(secrets, ({ project }) => project.id)].map(([id, some]) => (
    <section key={id} className={classes["part"]} aria-labelledby={id}>
      <h2 id={id}>{some[0]!.project.name}</h2>
      {tableOf(some)}
    </section>
  ));

/** `project`: the handle of one, if there are any. */
const NoSecrets = ({ project, onSet }: { project: string | undefined; onSet: () => void }) => (
  <Empty title="No secrets yet">
    <p>An agent that calls a service names a secret here instead of holding its token.</p>
    {project === undefined ? (
      <>
        <p>Secrets belong to a project: publish an agent first.</p>
        <Link to="/agents/new" className="link">
          New agent
        </Link>
      </>
    ) : (
      <>
        <Button onClick={onSet}>Set a secret</Button>
        <p>
          Or from a shell, with <WithKey />:
        </p>
        <ToCopy
          text={`printf %s 'the token' | npx autograph secrets set shopToken --project ${project}`}
          label="Copy the command"
        />
      </>
    )}
  </Empty>
);

type DeleteProps = { secret: SecretRowFragment; onDeleted: () => void; onClose: () => void };

function DeleteSecret({ secret, onDeleted, onClose }: DeleteProps) {
  const mutate = useMutate();
  const { id, name, usedBy } = secret;
  const deleteIt = async (): Promise<void> => {
    await mutate(DeleteSecretDocument, { input: { secretId: id } });
    onDeleted();
  };
  return (
    <Confirm title={`Delete ${name}?`} verb="Delete secret" typed={name} act={deleteIt} onClose={onClose}>
      <p>
        Its value cannot be restored.{" "}
        {usedBy.length > 0 ? `Calls of ${namesOf(secret)} that need it will fail.` : "No published agent names it."}
      </p>
    </Confirm>
  );
}

const namesOf = ({ usedBy }: SecretRowFragment): string => usedBy.map(({ name }) => name).join(", ");

type RowProps = {
  secret: SecretRowFragment;
  onChange: (secret: SecretRowFragment) => void;
  onEnd: (secret: SecretRowFragment) => void;
};

function SecretRow({ secret, onChange, onEnd }: RowProps) {
  const { name, usedBy, updatedAt, updatedBy } = secret;
  return (
    <tr>
      <td>
        <code className={classes["name"]}>{name}</code>
      </td>
      <td data-label="Used by">
        {usedBy.length === 0 && <span className="dim">no published agent</span>}
        {usedBy.map((agent, index) => (
          <span key={agent.id}>
            {index > 0 && ", "}
            <Link to="/agents/$agentId" params={{ agentId: agent.id }} search={{}} className="link">
              {agent.name}
            </Link>
          </span>
        ))}
      </td>
      <td data-label="Set">
        <Time at={updatedAt} /> <span className="dim">by {updatedBy.name}</span>
      </td>
      <td className={classes["action"]}>
        <Button.Group className={classes["right"]}>
          <Button
            variant="default"
            size="compact-sm"
            aria-label={`Replace the value of ${name}`}
            onClick={() => onChange(secret)}
          >
            Replace
          </Button>
          <Button variant="default" size="compact-sm" aria-label={`Delete ${name}`} onClick={() => onEnd(secret)}>
            Delete
          </Button>
        </Button.Group>
      </td>
    </tr>
  );
}
