import { useId } from 'react';
import type { AttachedFile, AttachedFiles } from './attached-files.ts';
import { Button } from './button.tsx';
import { bytesText } from './numbers.ts';
import { ChooseFiles } from './upload-button.tsx';

/** What the API says of `attachments`, at the names of the files. */
function faultsOf(
  errors: Readonly<Record<string, readonly string[]>>,
  taken: readonly AttachedFile[],
): string[] {
  return Object.entries(errors).flatMap(([path, texts]) => {
    const [field, index] = path.split('.');
    if (field !== 'attachments') return [];
    const name = index === undefined ? 'The files' : (taken[Number(index)]?.filename ?? 'A file');
    return texts.map((text) => `${name}: ${text}`);
  });
}

/** The files of a message in a form: adds, uploads and removes them. The form keeps them as its field `files`. */
export function AttachField({
  attached,
  errors,
}: {
  attached: AttachedFiles;
  errors: Readonly<Record<string, readonly string[]>>;
}) {
  const id = useId();
  const { files, unready, taken, text } = attached;
  const faults = [...(unready === null ? [] : [unready]), ...faultsOf(errors, taken)];
  return (
    <div className="field" role="group" aria-labelledby={id} aria-describedby={`${id}-hint`}>
      <span id={id} className="label">
        Files
      </span>
      <input type="hidden" name="files" value={text} data-base="[]" readOnly />
      {files.length > 0 && (
        <ul className="files" aria-labelledby={id}>
          {files.map((file) => (
            <AddedFile key={file.key} file={file} attached={attached} />
          ))}
        </ul>
      )}
      <div>
        <ChooseFiles label="Add files" multiple onChoose={attached.add} />
      </div>
      <p className="hint" id={`${id}-hint`}>
        Up to 20 files. Many mailboxes refuse mail with more than 20 MB, and mail with programs.
      </p>
      {faults.map((fault) => (
        <p key={fault} className="field-error" role="alert">
          {fault}
        </p>
      ))}
    </div>
  );
}

function AddedFile({ file, attached }: { file: AttachedFile; attached: AttachedFiles }) {
  const { filename, size, step } = file;
  return (
    <li>
      <div>
        <span className="name">{filename}</span> <span className="muted">{bytesText(size)}</span>
        {step.name === 'uploading' && (
          <progress value={step.part} max={1} aria-label={`Upload of ${filename}`} />
        )}
        {step.name === 'failed' && (
          <p className="field-error" role="alert">
            {step.reason}
          </p>
        )}
      </div>
      <div className="actions">
        {step.name === 'failed' && step.file && (
          <Button kind="quiet" aria-label={`Upload ${filename} again`} onClick={() => attached.retry(file)}>
            Try again
          </Button>
        )}
        <Button kind="quiet" aria-label={`Remove ${filename}`} onClick={() => attached.remove(file)}>
          Remove
        </Button>
      </div>
    </li>
  );
}
