import { useState } from 'react';
import { api, type Schemas } from '../../api/client.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { StatusBadge } from '../../ui/details.tsx';
import { useDownload } from '../../ui/download.ts';
import { fileTypeText } from '../../ui/file-type-text.ts';
import { bytesText } from '../../ui/numbers.ts';
import type { Mail } from './mail-view.tsx';

type Attachment = Schemas['ConversationAttachment'];

const REASONS: Record<string, string> = {
  encrypted: 'it is encrypted, so the scanner cannot read it',
  too_large: 'it is too large for the scanner',
  limit_exceeded: 'the scanner could not look at all of it',
  too_deep: 'it is packed in too many levels',
  no_scanner: 'this service has no virus scanner',
  scanner_unavailable: 'the virus scanner was unavailable',
  quarantined: 'the mail is in quarantine',
  missing: 'the file is gone',
};

export function Attachments({ mail }: { mail: Mail }) {
  if (mail.attachments.length === 0) return null;
  return (
    <ul className="attachments" aria-label="Attachments">
      {mail.attachments.map((attachment) => (
        <li key={attachment.id}>
          <span className="name">{attachment.filename}</span>
          <span className="muted">
            {fileTypeText(attachment.content_type)}, {bytesText(attachment.size)}
          </span>
          <Scan attachment={attachment} />
          {mail.conversation_id !== null && attachment.scan.status !== 'infected' && (
            <Download attachment={attachment} mailId={mail.id} conversationId={mail.conversation_id} />
          )}
        </li>
      ))}
    </ul>
  );
}

function Scan({ attachment: { scanned, scan } }: { attachment: Attachment }) {
  if (scanned) return <StatusBadge status="no virus found" tone="good" />;
  if (scan.status === 'infected') {
    return <StatusBadge status={`removed: ${scan.reason ?? 'a virus'}`} tone="bad" />;
  }
  return <StatusBadge status={scan.status === 'pending' ? 'being scanned' : 'not scanned'} tone="warn" />;
}

/** Saves a mail as it arrived. */
export function Original({
  mail: { id, conversation_id: conversationId, raw_available: kept, attachments, quarantine },
}: {
  mail: Mail;
}) {
  return kept && conversationId !== null ? (
    <OriginalDownload
      id={id}
      conversationId={conversationId}
      scanned={quarantine?.reason !== 'unreadable' && attachments.every(({ scanned }) => scanned)}
    />
  ) : null;
}

function OriginalDownload({
  id,
  conversationId,
  scanned,
}: {
  id: number;
  conversationId: number;
  /** Whether each file in it was found clean. */
  scanned: boolean;
}) {
  const download = useDownload(`message-${id}.eml`, () =>
    api.GET('/v1/my/conversations/{conversation_id}/messages/{id}/raw', {
      params: {
        path: { conversation_id: conversationId, id },
        query: scanned ? {} : { acknowledge_unscanned: 'true' },
      },
      parseAs: 'blob',
    }),
  );
  return (
    <ScannedDownload
      what="Download the original"
      title="A file in this mail was not scanned for viruses"
      warning="Open the files in it only if you expect them from this sender."
      scanned={scanned}
      download={download}
    >
      Download the original
    </ScannedDownload>
  );
}

/** Saves an attachment. */
function Download({
  attachment,
  mailId,
  conversationId,
}: {
  attachment: Attachment;
  mailId: number;
  conversationId: number;
}) {
  const { id, filename, scanned, scan } = attachment;
  const download = useDownload(filename, () =>
    api.GET('/v1/my/conversations/{conversation_id}/messages/{conversation_message_id}/attachments/{id}', {
      params: {
        path: { conversation_id: conversationId, conversation_message_id: mailId, id },
        query: scanned ? {} : { acknowledge_unscanned: 'true' },
      },
      parseAs: 'blob',
    }),
  );
  const reason = scan.status === 'pending' ? 'its scan is not finished' : REASONS[scan.reason ?? ''];
  return (
    <ScannedDownload
      what={`Download ${filename}`}
      title="This file was not scanned for viruses"
      warning={`Nobody has checked “${filename}”${reason === undefined ? '' : `: ${reason}`}. Open it only if you expect it from this sender.`}
      scanned={scanned}
      download={download}
    >
      Download
    </ScannedDownload>
  );
}

/** A button that saves a file. It asks first if the file was not scanned. */
function ScannedDownload({
  what,
  title,
  warning,
  scanned,
  download,
  children,
}: {
  what: string;
  title: string;
  warning: string;
  scanned: boolean;
  download: ReturnType<typeof useDownload>;
  children: string;
}) {
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Button
        kind="quiet"
        busy={download.busy}
        aria-label={what}
        onClick={() => (scanned ? download.run() : setAsking(true))}
      >
        {children}
      </Button>
      <Dialog open={asking} onClose={() => setAsking(false)} title={title}>
        <p>{warning}</p>
        <div className="actions">
          <Button
            kind="danger"
            onClick={() => {
              setAsking(false);
              download.run();
            }}
          >
            Download it unscanned
          </Button>
          <Button onClick={() => setAsking(false)}>Cancel</Button>
        </div>
      </Dialog>
    </>
  );
}
