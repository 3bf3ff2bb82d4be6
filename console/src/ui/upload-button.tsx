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

/** Lets the user choose a file of this computer, and uploads it. */
export function UploadButton({
  action,
  accept,
}: {
  action: Action<File, Schemas['Upload']>;
  accept?: string;
}) {
  const id = useId();
  const choose = (event: ChangeEvent<HTMLInputElement>) => {
    const file = event.target.files?.[0];
    // The same file can be chosen once more.
    event.target.value = '';
    if (file) action.run(file);
  };
  return (
    <label className="button upload" htmlFor={id} aria-busy={action.busy}>
      {action.busy ? 'Uploading…' : 'Upload a file'}
      <input
        id={id}
        type="file"
        className="visually-hidden"
        accept={accept}
        disabled={action.busy}
        onChange={choose}
      />
    </label>
  );
}
