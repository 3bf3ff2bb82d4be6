import { useId, type ChangeEvent } from 'react';
import { IMAGE_TYPES, ownPath, upload } from '../../api/uploads.ts';
import { useAction } from '../../ui/action.ts';
import { Field, TextInput } from '../../ui/field.tsx';

/** The web address of an image, typed or of a file that is uploaded. */
export function ImageField({
  label,
  value,
  onChange,
  hint,
  error = [],
}: {
  label: string;
  value: string;
  onChange: (next: string) => void;
  hint?: string;
  error?: readonly string[];
}) {
  const id = useId();
  const action = useAction({
    work: (file: File) => upload(file, true),
    refresh: [],
    fields: ['file'],
    onDone: ({ url }) => onChange(url),
  });
  const choose = (event: ChangeEvent<HTMLInputElement>) => {
    const file = event.target.files?.[0];
    // The same file can be chosen once more.
    event.target.value = '';
    if (file) action.run(file);
  };
  const path = ownPath(value);
  const faults = [...error, ...action.errorOf('file'), ...(action.fault === null ? [] : [action.fault])];
  return (
    <div className="image-field">
      {path !== null && <img src={path} alt="" className="thumb" />}
      <Field label={label} error={faults} {...(hint === undefined ? {} : { hint })}>
        <TextInput value={value} inputMode="url" onChange={(event) => onChange(event.target.value)} />
      </Field>
      <label className="button upload" htmlFor={id} aria-busy={action.busy}>
        {action.busy ? 'Uploading…' : 'Upload a file'}
        <input
          id={id}
          type="file"
          className="visually-hidden"
          accept={IMAGE_TYPES}
          disabled={action.busy}
          onChange={choose}
        />
      </label>
    </div>
  );
}
