import { Button } from "@mantine/core";

/** `verb`: the label of the button that sends the form, such as `Create key`. */
type Props = { verb: string; isBusy: boolean; onCancel: () => void };

/** The buttons below a form that can be closed again. */
export const SendOrCancel = ({ verb, isBusy, onCancel }: Props) => (
  <div className="line">
    <Button type="submit" loading={isBusy}>
      {verb}
    </Button>
    <Button variant="default" onClick={onCancel}>
      Cancel
    </Button>
  </div>
);
