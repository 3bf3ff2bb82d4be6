import { useState, type SubmitEvent } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { CloseButton } from '../../ui/action-form.tsx';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Time } from '../../ui/details.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { KeptForm, useKept } from '../../ui/kept-form.tsx';
import { Notice } from '../../ui/notice.tsx';

type ApiKey = Schemas['ApiKey'];

/** The actions on a key: rename and revoke. A revoked key shows when it was revoked. */
export function KeyActions({ apiKey }: { apiKey: ApiKey }) {
  const [renaming, setRenaming] = useState(false);
  const revoke = useAction({
    work: () => call(() => api.DELETE('/v1/my/api_keys/{id}', { params: { path: { id: apiKey.id } } })),
    done: 'Key revoked.',
    refresh: ['api_keys'],
  });
  if (apiKey.revoked_at !== null) {
    return (
      <span className="muted">
        Revoked <Time at={apiKey.revoked_at} />
      </span>
    );
  }
  return (
    <div className="actions">
      <Button onClick={() => setRenaming(true)}>Rename</Button>
      <ConfirmButton
        label="Revoke"
        title={`Revoke ${apiKey.name || apiKey.prefix}?`}
        busy={revoke.busy}
        onConfirm={() => revoke.run()}
      >
        <p>Programs that use it are refused at once. A revoked key never works again.</p>
      </ConfirmButton>
      {renaming && <RenameDialog apiKey={apiKey} onClose={() => setRenaming(false)} />}
    </div>
  );
}

function RenameDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const kept = useKept(`api-key.${apiKey.id}`);
  const rename = useAction({
    work: (name: string) =>
      call(() => api.PATCH('/v1/my/api_keys/{id}', { params: { path: { id: apiKey.id } }, body: { name } })),
    done: 'Key renamed.',
    refresh: ['api_keys'],
    fields: ['name'],
    onDone: onClose,
    kept,
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    rename.run(formText(new FormData(event.currentTarget), 'name').trim());
  };
  return (
    <Dialog open onClose={onClose} title="Rename the key">
      <KeptForm kept={kept} onSubmit={submit}>
        {rename.fault !== null && <Notice tone="bad">{rename.fault}</Notice>}
        <Field label="Name" error={rename.errorOf('name')}>
          <TextInput name="name" defaultValue={apiKey.name} maxLength={100} autoFocus />
        </Field>
        <div className="actions">
          <Button type="submit" kind="primary" busy={rename.busy}>
            Save
          </Button>
          <CloseButton kept={kept} onClick={onClose} />
        </div>
      </KeptForm>
    </Dialog>
  );
}
