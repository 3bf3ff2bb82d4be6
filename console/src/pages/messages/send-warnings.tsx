import type { Schemas } from '../../api/client.ts';
import { Button } from '../../ui/button.tsx';
import { Notice } from '../../ui/notice.tsx';
import { kindText } from './recipient-kinds.ts';

const LABELS: Readonly<Record<string, string>> = { ...kindText, html: 'The HTML' };

/** What the API noticed about a letter that it has accepted. */
export const SendWarnings = ({
  message: { warnings = [] },
  onOpen,
  onClose,
}: {
  message: Schemas['AcceptedMessage'];
  onOpen: () => void;
  onClose: () => void;
}) => (
  <>
    <Notice tone="warn" title="What to know">
      {warnings.map(({ field, message }) => (
        <p key={`${field} ${message}`}>
          {LABELS[field] ?? 'A file'} {message}.
        </p>
      ))}
    </Notice>
    <div className="actions">
      <Button kind="primary" onClick={onOpen}>
        Open the message
      </Button>
      <Button onClick={onClose}>Close</Button>
    </div>
  </>
);
