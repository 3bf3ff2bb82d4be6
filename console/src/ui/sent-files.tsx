import { api, type Schemas } from '../api/client.ts';
import { Button } from './button.tsx';
import { useDownload } from './download.ts';
import { fileTypeText } from './file-type-text.ts';
import { bytesText } from './numbers.ts';

type SentFile = Pick<Schemas['MessageAttachment'], 'n' | 'filename' | 'content_type' | 'size'>;

/** The files of a message, each with its download. */
export function SentFiles({
  messageId,
  files,
  kept = true,
}: {
  /** Null if the message is gone, and its files with it. */
  messageId: number | null;
  files: readonly SentFile[];
  /** Whether the service keeps the files of such messages. */
  kept?: boolean;
}) {
  return (
    <>
      <ul className="files" aria-label="Files">
        {files.map((file) => (
          <li key={file.n}>
            <div>
              <span className="name">{file.filename}</span>{' '}
              <span className="muted">
                {fileTypeText(file.content_type)}, {bytesText(file.size)}
              </span>
            </div>
            {kept && messageId !== null && <Download file={file} messageId={messageId} />}
          </li>
        ))}
      </ul>
      {!kept && <p className="hint">The files of test messages are checked, but not kept.</p>}
    </>
  );
}

function Download({ file: { n, filename }, messageId }: { file: SentFile; messageId: number }) {
  const download = useDownload(filename, () =>
    api.GET('/v1/my/messages/{id}/attachments/{n}', {
      params: { path: { id: messageId, n } },
      parseAs: 'blob',
    }),
  );
  return (
    <Button
      kind="quiet"
      busy={download.busy}
      aria-label={`Download ${filename}`}
      onClick={() => download.run()}
    >
      Download
    </Button>
  );
}
