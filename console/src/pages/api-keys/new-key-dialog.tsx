import type { Schemas } from '../../api/client.ts';
import { useBrand } from '../../shell/brand.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock, curlOf } from '../../ui/code.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Notice } from '../../ui/notice.tsx';

/** What others could do with the key. */
const whatItDoes = (created: Schemas['CreatedApiKey'] | null) =>
  created?.scopes
    ? 'Anyone who has it can send in your name, and read what was sent with it, but nothing else.'
    : 'Anyone who has it can use the API as your program does.';

/** Shows a new key, which the API returns only once, with a command that sends a message with it. */
export function NewKeyDialog({
  created,
  onClose,
}: {
  created: Schemas['CreatedApiKey'] | null;
  onClose: () => void;
}) {
  const { user } = useBrand().signedIn;
  const message = { channel: 'email', to: user.email, subject: 'Hello', html: '<p>Hello</p>' };
  return (
    <Dialog open={created !== null} onClose={onClose} title="Your new key" wide mustAnswer>
      <p>Copy it now: it is shown only once. {whatItDoes(created)}</p>
      <CodeBlock text={`export CARILLON_API_KEY=${created?.key ?? ''}`} label="Set it in your terminal" />
      <CodeBlock text={curlOf('POST', '/v1/my/messages', message)} label="Send a message with it" />
      {created?.test === true && (
        <Notice title="A test key">Its messages are checked and listed, but not sent.</Notice>
      )}
      <div className="actions">
        <Button kind="primary" onClick={onClose}>
          I have saved it
        </Button>
      </div>
    </Dialog>
  );
}
