import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code.tsx';
import { Dialog } from '../../ui/dialog.tsx';

/** Shows recovery codes, which the API returns only once. */
export function RecoveryCodesDialog({
  codes,
  onClose,
}: {
  codes: readonly string[] | null;
  onClose: () => void;
}) {
  return (
    <Dialog open={codes !== null} onClose={onClose} title="Your recovery codes">
      <p>
        Keep them in a safe place: they are shown only now. Each signs you in once, if you do not have your
        authenticator app.
      </p>
      <CodeBlock text={(codes ?? []).join('\n')} />
      <div className="actions">
        <Button kind="primary" onClick={onClose}>
          I have saved them
        </Button>
      </div>
    </Dialog>
  );
}
