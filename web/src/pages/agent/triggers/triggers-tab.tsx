/** The agent's triggers: each in words, when it comes next, and its firings so far. */
import { useNavigate } from "@tanstack/react-router";
import { Button, Menu } from "@mantine/core";
import { AgentTriggersDocument, FiringsChangedDocument, type TriggerType } from "../../../api/documents.ts";
import { useLive, useRead } from "../../../api/hooks.ts";
import { refusalIn } from "../../../api/refusal.ts";
import { Icon, SHAPES } from "../../../components/icon.tsx";
import { Loading } from "../../../components/loading.tsx";
import { Empty, Problem, TryAgain } from "../../../components/notice.tsx";
import { TRIGGER_SHAPES, TRIGGER_TYPES } from "../../../components/trigger-shapes.ts";
import { FailureMails } from "./failure-mails.tsx";
import { KINDS } from "./kinds.ts";
import { TriggerForm } from "./trigger-form.tsx";
import { TriggerPart, type May } from "./trigger-part.tsx";
import classes from "./triggers-tab.module.css";

/** This tab's part of the page's address. `edit`: the id of the trigger that is changed. */
export type TriggersSearch = { add?: TriggerType; edit?: string };

export function TriggersTab({ agentId, search, may }: { agentId: string; search: TriggersSearch; may: May }) {
  const variables = { id: agentId };
  const [{ data, error }, again] = useRead({
    query: AgentTriggersDocument,
    variables,
    requestPolicy: "cache-and-network",
  });
  useLive(
    FiringsChangedDocument,
    { agentId },
    {
      onMissed: again,
      // The cache has the firing itself; a schedule that was due has other next times.
      onData: ({ firingsChanged: { dueAt } }) => dueAt !== null && again(),
    },
  );
  const navigate = useNavigate();
  const show = ({ add, edit }: TriggersSearch): void =>
    void navigate({
      to: "/agents/$agentId",
      params: { agentId },
      search: { tab: "triggers", ...(add && { add }), ...(edit && { edit }) },
      replace: true,
      resetScroll: false,
    });
  const done = (): void => {
    show({});
    again();
  };
  const triggers = data?.agent?.triggers.nodes;
  const fields = data?.agent?.inputFields ?? [];
  if (error && !triggers) return <Problem refusal={refusalIn(error)} action={<TryAgain onClick={again} />} />;
  if (!triggers) return <Loading label="Loading the triggers" />;
  const added = may.write ? search.add : undefined;
  const form = { agentId, fields, onDone: done, onCancel: () => show({}) };
  return (
    <div className={classes["tab"]}>
      {may.write && !added && <AddTrigger onChoose={(add) => show({ add })} />}
      {added && <TriggerForm key={added} {...form} type={added} />}
      {!may.write && <p className="dim">You may read triggers, but not change them. Owners, admins and editors may.</p>}
      {triggers.length === 0 && !added && <NoTriggers />}
      {triggers.map((trigger) => {
        const isEdited = trigger.id === search.edit && may.write && !trigger.isManaged;
        return isEdited ? (
          <TriggerForm key={trigger.id} {...form} type={trigger.type} trigger={trigger} />
        ) : (
          <TriggerPart
            key={trigger.id}
            {...{ fields, trigger, may }}
            onEdit={() => show({ edit: trigger.id })}
            onChanged={again}
          />
        );
      })}
      <FailureMails agentId={agentId} mayWrite={may.write} />
    </div>
  );
}

const NoTriggers = () => (
  <Empty title="Nothing starts this agent by itself">
    <p>A trigger starts runs on a schedule, when a URL is called, or on an event.</p>
  </Empty>
);

const AddTrigger = ({ onChoose }: { onChoose: (type: TriggerType) => void }) => (
  <Menu position="bottom-start">
    <Menu.Target>
      <Button variant="default" rightSection={<Icon shape={SHAPES.chevron} size={12} />}>
        Add a trigger
      </Button>
    </Menu.Target>
    <Menu.Dropdown>
      {TRIGGER_TYPES.map((type) => (
        <Menu.Item
          key={type}
          leftSection={<Icon shape={TRIGGER_SHAPES[type]} size={14} />}
          onClick={() => onChoose(type)}
        >
          {KINDS[type].word}
        </Menu.Item>
      ))}
    </Menu.Dropdown>
  </Menu>
);
