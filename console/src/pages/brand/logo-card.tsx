import type { ChangeEvent } from 'react';
import { api, call } from '../../api/client.ts';
import { IMAGE_TYPES, ownPath, upload } from '../../api/uploads.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/details.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { Notice } from '../../ui/notice.tsx';

/** Uploads the file, and makes it the logo. */
async function replaceLogo(file: File): Promise<void> {
  const { signed_id: logo } = await upload(file, false);
  await call(() => api.PUT('/v1/my/brand', { body: { logo } }));
}

export function LogoCard({ logo }: { logo: string | null }) {
  const replace = useAction({
    work: replaceLogo,
    done: 'Logo saved.',
    refresh: ['brands', 'preview'],
    fields: ['file', 'logo'],
  });
  const remove = useAction({
    work: () => call(() => api.PUT('/v1/my/brand', { body: { logo: null } })),
    done: 'Logo removed.',
    refresh: ['brands', 'preview'],
  });
  const choose = (event: ChangeEvent<HTMLInputElement>) => {
    const file = event.target.files?.[0];
    if (file) replace.run(file);
  };
  const path = logo === null ? null : ownPath(logo);
  return (
    <Card title="Logo">
      {path !== null && <img src={path} alt="The logo of the brand" className="logo" />}
      {logo !== null && path === null && <p>{logo}</p>}
      {replace.fault !== null && <Notice tone="bad">{replace.fault}</Notice>}
      <Field
        label="Replace the logo"
        hint="PNG, JPEG, GIF or WebP, at most 5 MB."
        error={[...replace.errorOf('file'), ...replace.errorOf('logo')]}
      >
        <LogoInput onChange={choose} busy={replace.busy} />
      </Field>
      {logo !== null && (
        <div className="actions">
          <Button busy={remove.busy} onClick={() => remove.run()}>
            Remove the logo
          </Button>
        </div>
      )}
    </Card>
  );
}

function LogoInput({
  onChange,
  busy,
}: {
  onChange: (event: ChangeEvent<HTMLInputElement>) => void;
  busy: boolean;
}) {
  return <TextInput type="file" accept={IMAGE_TYPES} onChange={onChange} disabled={busy} />;
}
