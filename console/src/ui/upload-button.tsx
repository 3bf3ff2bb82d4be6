import { useId, type ChangeEvent } from 'react';
import type { Schemas } from '../api/client.ts';
import { upload } from '../api/uploads.ts';
import { useAction, type Action } from './action.ts';

/** Uploads a file that stays until it is deleted. For {@link UploadButton}. */
export const useUpload = (onDone: (stored: Schemas['Upload']) => void): Action<File, Schemas['Upload']> =>
  useAction({ work: (file: File) => upload(file, true), refresh: ['uploads'], fields: ['file'], onDone });

/** What is wrong with the file or the request. */
export const faultsOfUpload = (action: Action<File, Schemas['Upload']>): readonly string[] => [
  ...action.errorOf('file'),
  ...(action.fault === null ? [] : [action.fault]),
];

/** Lets the user choose files of this computer. */
export function ChooseFiles({
  label,
  busy = false,
  multiple = false,
  accept,
  onChoose,
}: {
  label: string;
  busy?: boolean;
  multiple?: boolean;
  accept?: string | undefined;
  onChoose: (files: File[]) => void;
}) {
  const id = useId();
  const choose = ({ target }: ChangeEvent<HTMLInputElement>) => {
    const files = [...(target.files ?? [])];
    // The same file can be chosen once more.
    target.value = '';
    if (files.length > 0) onChoose(files);
  };
  return (
    <label className="button upload" htmlFor={id} aria-busy={busy}>
      {label}
      <input
        id={id}
        type="file"
        className="visually-hidden"
        accept={accept}
        multiple={multiple}
        disabled={busy}
        onChange={choose}
      />
    </label>
  );
}

/** Lets the user choose a file of this computer, and uploads it. */
export const UploadButton = ({
  action,
  accept,
}: {
  action: Action<File, Schemas['Upload']>;
  accept?: string;
}) => (
  <ChooseFiles
    label={action.busy ? 'Uploading…' : 'Upload a file'}
    busy={action.busy}
    accept={accept}
    onChoose={([file]) => file && action.run(file)}
  />
);
