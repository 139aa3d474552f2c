/** Menu of an agent: limits, pauses and archives it, and brings it back. */
import { useState, type SubmitEvent } from "react";
import { ActionIcon, Button, Menu, Modal, NumberInput } from "@mantine/core";
import {
  SetAgentLimitDocument,
  SetAgentStatusDocument,
  type AgentPageQuery,
  type AgentStatus,
} from "../../api/documents.ts";
import { useMutate } from "../../api/hooks.ts";
import { useAct } from "../../api/use-act.ts";
import { Confirm } from "../../components/confirm.tsx";
import { Icon, SHAPES } from "../../components/icon.tsx";
import { Problem } from "../../components/notice.tsx";
import { useOnScreen } from "../../components/palette/on-screen.ts";
import { useFocusBack } from "../../lib/use-focus-back.ts";
import classes from "./agent-menu.module.css";

type Agent = NonNullable<AgentPageQuery["agent"]>;
type Asked = "pause" | "archive" | "limit";

/** An agent that was never published cannot be paused, and comes back from the archive as a draft. */
export const activeOf = ({ agentVersion }: Agent): AgentStatus => (agentVersion ? "active" : "draft");

export function AgentMenu({ agent }: { agent: Agent }) {
  const { name, status } = agent;
  const [asked, setAsked] = useState<Asked>();
  const { setStatus, isBusy, refusal } = useSetStatus(agent);
  const items = [
    ...(status === "active" ? [{ word: "Pause…", act: () => setAsked("pause") }] : []),
    ...(status === "paused" ? [{ word: "Resume", act: () => setStatus("active") }] : []),
    ...(status === "active" || status === "paused"
      ? [{ word: "Limit concurrent runs…", act: () => setAsked("limit") }]
      : []),
    status === "archived"
      ? { word: "Bring back", act: () => setStatus(activeOf(agent)) }
      : { word: "Archive…", act: () => setAsked("archive") },
  ];
  useOnScreen(items.map(({ word, act }) => ({ word: `${word.replace("…", "")} (${name})`, act })));
  const close = (): void => setAsked(undefined);
  return (
    <>
      {refusal && <Problem refusal={refusal} />}
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="default" size={30} loading={isBusy} aria-label={`More for ${name}`}>
            <Icon shape={SHAPES.more} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {items.map(({ word, act }) => (
            <Menu.Item key={word} onClick={act}>
              {word}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {asked === "limit" && <Limit agent={agent} onClose={close} />}
      {(asked === "pause" || asked === "archive") && <EndAgent agent={agent} how={asked} onClose={close} />}
    </>
  );
}

export function useSetStatus({ id: agentId }: Pick<Agent, "id">) {
  const mutate = useMutate();
  const { act, isBusy, refusal } = useAct();
  const setStatus = (status: AgentStatus): void => {
    if (!isBusy) void act(() => mutate(SetAgentStatusDocument, { input: { agentId, status } }));
  };
  return { setStatus, isBusy, refusal };
}

type Props = { agent: Agent; onClose: () => void };

function EndAgent({ agent: { id: agentId, name }, how, onClose }: Props & { how: "pause" | "archive" }) {
  const mutate = useMutate();
  const status = how === "pause" ? "paused" : "archived";
  const verb = how === "pause" ? "Pause" : "Archive";
  return (
    <Confirm
      title={`${verb} ${name}?`}
      verb={`${verb} ${name}`}
      act={() => mutate(SetAgentStatusDocument, { input: { agentId, status } })}
      onClose={onClose}
    >
      <p>
        It takes no runs until it is {how === "pause" ? "resumed" : "brought back"}, and its triggers start none. Open
        runs go on.
        {how === "archive" && " It is hidden from lists that do not ask for archived agents."}
      </p>
    </Confirm>
  );
}

function Limit({ agent: { id: agentId, name, concurrency }, onClose: close }: Props) {
  const mutate = useMutate();
  const { act, isBusy, refusal } = useAct();
  useFocusBack();
  const [most, setMost] = useState<number | "">(concurrency ?? "");
  const onClose = (): void => {
    if (!isBusy) close();
  };
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const input = { agentId, concurrency: most === "" ? null : most };
    if (!isBusy && (await act(() => mutate(SetAgentLimitDocument, { input })))) close();
  };
  const problem = refusal?.fields[0]?.message;
  return (
    <Modal opened onClose={onClose} title={`Limit ${name}`} closeButtonProps={{ "aria-label": "Close" }}>
      <form noValidate className={classes["limit"]} onSubmit={(event) => void submit(event)}>
        {refusal && problem === undefined && <Problem refusal={refusal} />}
        <NumberInput
          label="Concurrent runs"
          description="Waiting and paused runs count. More runs queue, oldest first. Empty: no limit."
          min={1}
          allowDecimal={false}
          allowNegative={false}
          value={most}
          error={problem}
          data-autofocus
          onChange={(value) => setMost(typeof value === "number" ? value : "")}
        />
        <div className="line">
          <Button type="submit" loading={isBusy}>
            {most === "" ? "Set no limit" : `Limit to ${most}`}
          </Button>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
        </div>
      </form>
    </Modal>
  );
}
