import { Button, Modal } from "@mantine/core";
import { useQuery } from "urql";
import { FrameDocument } from "../../api/documents.ts";
import { useSession } from "../../api/hooks.ts";
import { useAct } from "../../api/use-act.ts";
import { Problem } from "../../components/notice.tsx";
import { CredentialsForm } from "../../forms/credentials-form.tsx";
import { FIELDS } from "./fields.ts";

/** Over a page whose session has ended: what is on it stays, and what was asked goes on after signing in. */
export function SignInAgain() {
  const session = useSession();
  const [{ data }] = useQuery({ query: FrameDocument, requestPolicy: "cache-only" });
  const { act, isBusy, refusal } = useAct();
  return (
    <Modal
      opened
      title="Your session has ended"
      closeOnEscape={false}
      closeOnClickOutside={false}
      withCloseButton={false}
      onClose={() => undefined}
    >
      <div className="stack">
        <p>Sign in again to go on. What you have typed is still here.</p>
        {refusal && <Problem refusal={refusal} />}
        <CredentialsForm
          fields={FIELDS}
          initial={{ email: data?.caller?.user?.email ?? "" }}
          verb="Sign in"
          send={(values) => session.signIn(values)}
        />
        <Button variant="subtle" loading={isBusy} onClick={() => void act(() => session.signOut())}>
          Sign out
        </Button>
      </div>
    </Modal>
  );
}
