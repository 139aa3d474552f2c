/** The model connections of one project. */
import { useEffect, useEffectEvent, useState } from "react";
import { Button } from "@mantine/core";
import { DeleteModelDocument, ModelsDocument, type ModelFragment } from "../../api/documents.ts";
import { useMutate, useRead } from "../../api/hooks.ts";
import { Confirm } from "../../components/confirm.tsx";
import { List } from "../../components/table/list.tsx";
import { pageIn } from "../../components/table/rows.tsx";
import type { Column } from "../../components/table/table.tsx";
import settings from "./settings.module.css";
import { ModelRow } from "./model-row.tsx";
import classes from "./models.module.css";

const COLUMNS: readonly Column[] = [
  { word: "Name" },
  { word: "Model" },
  { word: "Prices and limits" },
  { word: "Default" },
];
const WITH_ACTIONS: readonly Column[] = [...COLUMNS, { word: "Actions", isSilent: true }];

type Props = {
  project: { id: string; name: string };
  mayChange: boolean;
  /** How many times the page was read again. */
  readings: number;
  onSay: (said: string) => void;
  onAdd: () => void;
  onEdit: (model: ModelFragment) => void;
};

export function ProjectModels({ project, mayChange, readings, onSay, onAdd, onEdit }: Props) {
  const [asked, readAgain] = useRead({
    query: ModelsDocument,
    variables: { projectId: project.id },
    requestPolicy: "cache-and-network",
  });
  const readWithPage = useEffectEvent(readAgain);
  const [atFirst] = useState(readings);
  useEffect(() => {
    if (readings > atFirst) readWithPage();
  }, [readings, atFirst]);
  const [ending, setEnding] = useState<ModelFragment>();
  return (
    <section className={settings["part"]} aria-labelledby={project.id}>
      <div className={settings["head"]}>
        <h2 id={project.id}>{project.name}</h2>
        {mayChange && (
          <Button variant="default" aria-label={`Add a model to ${project.name}`} onClick={onAdd}>
            Add a model
          </Button>
        )}
      </div>
      <List
        what={`the models of ${project.name}`}
        page={pageIn(asked, asked.data?.modelConnections ?? undefined, readAgain)}
        columns={mayChange ? WITH_ACTIONS : COLUMNS}
        className={`${settings["table"]} ${settings["actions"]} ${classes["models"]}`}
        renderRow={(model) => (
          <ModelRow key={model.id} {...{ model, mayChange, onEdit }} onDefault={readAgain} onEnd={setEnding} />
        )}
        empty={<p className="dim">No model of its own. The server’s model, if there is one, reads its sentences.</p>}
      />
      {ending && (
        <DeleteModel
          model={ending}
          onDeleted={() => {
            onSay(`${ending.name} is deleted.`);
            readAgain();
          }}
          onClose={() => setEnding(undefined)}
        />
      )}
    </section>
  );
}

type DeleteProps = { model: ModelFragment; onDeleted: () => void; onClose: () => void };

function DeleteModel({ model: { id, name, hasKey, isDefault }, onDeleted, onClose }: DeleteProps) {
  const mutate = useMutate();
  const deleteIt = async (): Promise<void> => {
    await mutate(DeleteModelDocument, { input: { modelConnectionId: id } });
    onDeleted();
  };
  return (
    <Confirm title={`Delete ${name}?`} verb="Delete model" typed={name} act={deleteIt} onClose={onClose}>
      <p>
        {hasKey && "Its key cannot be restored. "}
        Calls that name it fail from then on.
        {isDefault && " It is the project’s default: the server’s model, if there is one, reads its sentences then."}
      </p>
    </Confirm>
  );
}
