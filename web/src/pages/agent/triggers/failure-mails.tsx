/** Who gets a mail when a run fails that a trigger started. */
import { useState } from "react";
import { Button, MultiSelect } from "@mantine/core";
import { useQuery } from "urql";
import { FailureMailsDocument, SetFailureMailsDocument } from "../../../api/documents.ts";
import { useMutate } from "../../../api/hooks.ts";
import { refusalIn } from "../../../api/refusal.ts";
import { useAct } from "../../../api/use-act.ts";
import { Problem } from "../../../components/notice.tsx";
import { amongRead, moreChoices } from "../../../forms/more-choices.ts";
import classes from "./triggers-tab.module.css";

type Props = { agentId: string; mayWrite: boolean };

export function FailureMails({ agentId, mayWrite }: Props) {
  const [{ data, error }] = useQuery({ query: FailureMailsDocument, variables: { id: agentId } });
  if (error && !data?.agent) return <Problem refusal={refusalIn(error)} />;
  if (!data?.agent) return null;
  const chosen = data.agent.failureMails ?? [];
  if (!mayWrite)
    return chosen.length === 0 ? null : (
      <p className="dim">Mailed when a run that a trigger started fails: {chosen.join(", ")}.</p>
    );
  const people = data.members?.nodes.flatMap(({ user }) =>
    user.email === null ? [] : [{ ...user, email: user.email }],
  );
  const known = new Map(people?.map(({ email, name }) => [email, `${name} (${email})`]));
  for (const email of chosen) if (!known.has(email)) known.set(email, email);
  return (
    <section className={classes["made"]} aria-labelledby="failure-mails">
      <h2 id="failure-mails">Mail when a run fails</h2>
      <Choice
        key={data.agent.id}
        agentId={data.agent.id}
        former={chosen}
        offered={[
          ...Array.from(known, ([value, label]) => ({ value, label })),
          ...moreChoices(data.members?.pageInfo.hasNextPage, "and more people, who joined earlier"),
        ]}
      />
    </section>
  );
}

type ChoiceProps = { agentId: string; former: readonly string[]; offered: { value: string; label: string }[] };

function Choice({ agentId, former, offered }: ChoiceProps) {
  const [emails, setEmails] = useState<string[]>([...former]);
  const [isSaved, setIsSaved] = useState(false);
  const mutate = useMutate();
  const { act, isBusy, refusal } = useAct();
  const save = async (): Promise<void> => {
    setIsSaved(await act(() => mutate(SetFailureMailsDocument, { input: { agentId, emails } })));
  };
  return (
    <>
      <p className="dim">
        They get a mail when runs that triggers started fail: at most one an hour, with how many failed.
      </p>
      {refusal && <Problem refusal={refusal} />}
      <MultiSelect
        label="Members"
        placeholder={emails.length === 0 ? "Nobody" : ""}
        data={offered}
        value={emails}
        searchable
        openOnFocus={false}
        filter={amongRead}
        nothingFoundMessage="No matching members"
        onChange={(next) => {
          setEmails(next);
          setIsSaved(false);
        }}
        w="100%"
        maw={520}
      />
      <Button variant="default" loading={isBusy} onClick={() => void save()}>
        Save
      </Button>
      {isSaved && <p role="status">Saved.</p>}
    </>
  );
}
