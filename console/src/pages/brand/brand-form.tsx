import type { ReactNode, SubmitEvent } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { useReloadSignedIn } from '../../shell/reload-signed-in.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/details.tsx';
import { Checkbox, Field, TextArea, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { KeptForm, useKept } from '../../ui/kept-form.tsx';
import { Notice } from '../../ui/notice.tsx';

const TEXTS = [
  'company_name',
  'physical_address',
  'industry',
  'company_description',
  'tone',
  'style_notes',
  'font_heading',
  'font_body',
  'brand_color',
  'text_color',
  'bg_color',
  'timezone',
  'sms_stop_text',
] as const;
type TextName = (typeof TEXTS)[number];
const TICKS = ['track_opens', 'track_clicks'] as const;

type Changes = Record<TextName, string | null> & Record<(typeof TICKS)[number], boolean>;

function changesOf(form: FormData): Changes {
  const texts = TEXTS.map((name) => [name, formText(form, name).trim() || null] as const);
  const ticks = TICKS.map((name) => [name, form.has(name)] as const);
  return Object.fromEntries<string | boolean | null>([...texts, ...ticks]) as Changes;
}

/** All text fields, colors and ticks of the brand. Someone else's change in the meantime is not overwritten. */
export function BrandForm({ brand, etag }: { brand: Schemas['Brand']; etag: string }) {
  const reloadSignedIn = useReloadSignedIn();
  const kept = useKept('brand');
  const save = useAction({
    work: (body: Changes) =>
      call(() => api.PUT('/v1/my/brand', { params: { header: { 'If-Match': etag } }, body })),
    done: 'Brand saved.',
    refresh: ['brands', 'preview', 'account'],
    fields: TEXTS,
    onDone: () => void reloadSignedIn(),
    kept,
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    save.run(changesOf(new FormData(event.currentTarget)));
  };
  const field = (name: TextName, label: string, hint?: string, input?: ReactNode) => (
    <Field label={label} hint={hint} error={save.errorOf(name)}>
      {input ?? <TextInput name={name} defaultValue={brand[name] ?? ''} />}
    </Field>
  );
  const area = (name: TextName) => <TextArea name={name} rows={3} defaultValue={brand[name] ?? ''} />;
  const colour = (name: TextName) => <ColourInput name={name} value={brand[name]} />;
  return (
    <Card title="Company and look">
      <KeptForm kept={kept} onSubmit={submit}>
        {save.fault !== null && <Notice tone="bad">{save.fault}</Notice>}
        {field('company_name', 'Company name')}
        {field(
          'physical_address',
          'Postal address',
          'Campaigns need one in their footer.',
          area('physical_address'),
        )}
        {field('brand_color', 'Brand color', 'Six hex digits, such as #4338ca.', colour('brand_color'))}
        {field('text_color', 'Text color', undefined, colour('text_color'))}
        {field('bg_color', 'Background color', undefined, colour('bg_color'))}
        {field('font_heading', 'Heading font')}
        {field('font_body', 'Text font')}
        {field(
          'timezone',
          'Time zone',
          'An IANA name, such as Europe/Berlin. Days in figures and local times follow it.',
        )}
        {field('industry', 'Industry')}
        {field('company_description', 'Description', undefined, area('company_description'))}
        {field('tone', 'Tone', undefined, area('tone'))}
        {field('style_notes', 'Style notes', undefined, area('style_notes'))}
        {field('sms_stop_text', 'Last line of each SMS', 'Such as: Reply STOP to unsubscribe.')}
        <Checkbox name="track_opens" label="Record opens" defaultChecked={brand.track_opens} />
        <Checkbox name="track_clicks" label="Record clicks" defaultChecked={brand.track_clicks} />
        <div className="actions">
          <Button type="submit" kind="primary" busy={save.busy}>
            Save
          </Button>
        </div>
      </KeptForm>
    </Card>
  );
}

/** The digits, with the color beside them. */
function ColourInput({ name, value }: { name: TextName; value: string | null }) {
  return (
    <span className="colour">
      <TextInput name={name} defaultValue={value ?? ''} placeholder="#000000" maxLength={7} />
      {value !== null && <span className="swatch" style={{ background: value }} />}
    </span>
  );
}
