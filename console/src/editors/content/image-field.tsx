import { useState } from 'react';
import { IMAGE_TYPES, ownPath } from '../../api/uploads.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { faultsOfUpload, UploadButton, useUpload } from '../../ui/upload-button.tsx';
import { ImageChoice } from './image-choice.tsx';

/** The web address of an image: typed, of a file that is uploaded, or of one that the brand has. */
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
  const [choosing, setChoosing] = useState(false);
  const action = useUpload(({ url }) => onChange(url));
  const path = ownPath(value);
  return (
    <div className="image-field">
      {path !== null && <img src={path} alt="" className="thumb" />}
      <Field
        label={label}
        error={[...error, ...faultsOfUpload(action)]}
        {...(hint === undefined ? {} : { hint })}
      >
        <TextInput value={value} inputMode="url" onChange={(event) => onChange(event.target.value)} />
      </Field>
      <div className="actions">
        <UploadButton action={action} accept={IMAGE_TYPES} />
        <Button onClick={() => setChoosing(true)}>Choose from files</Button>
      </div>
      <Dialog open={choosing} onClose={() => setChoosing(false)} title="Choose an image" wide>
        <ImageChoice
          onChoose={(url) => {
            setChoosing(false);
            onChange(url);
          }}
        />
      </Dialog>
    </div>
  );
}
