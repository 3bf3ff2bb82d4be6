import type { SubmitEvent } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { Card, StatusBadge, Time } from '../../ui/details.tsx';
import { Checkbox, Field, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { KeptForm, useKept } from '../../ui/kept-form.tsx';
import { Notice } from '../../ui/notice.tsx';

type Scrape = NonNullable<Schemas['Brand']['scrape']>;

const REASONS: Record<NonNullable<Scrape['error']>, string> = {
  unreachable: 'The website could not be reached.',
  not_html: 'There is no web page at this address.',
  timeout: 'The website took too long to answer.',
  robots: 'The website does not allow programs to read it.',
  nothing_found: 'The website has no colors, fonts or logo that could be used.',
};

/** Fills the brand from a website. */
export function ScrapeCard({ scrape }: { scrape: Scrape | null }) {
  const kept = useKept('brand-website');
  const start = useAction({
    work: (body: { url: string; overwrite: boolean }, key) =>
      call(() => api.POST('/v1/my/brand/scrape', { params: { header: { 'Idempotency-Key': key } }, body })),
    done: 'The website is being read.',
    refresh: ['brands'],
    fields: ['url'],
    kept,
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    start.run({ url: formText(form, 'url').trim(), overwrite: form.has('overwrite') });
  };
  return (
    <Card title="Fill from a website">
      <KeptForm kept={kept} onSubmit={submit}>
        {start.fault !== null && <Notice tone="bad">{start.fault}</Notice>}
        <Field
          label="Website"
          hint="Colors, fonts, logo, links and tone are taken from it."
          error={start.errorOf('url')}
        >
          <TextInput
            name="url"
            inputMode="url"
            placeholder="example.com"
            defaultValue={scrape?.url}
            required
          />
        </Field>
        <Checkbox name="overwrite" label="Also replace what was edited by hand" />
        <div className="actions">
          <Button type="submit" busy={start.busy || scrape?.status === 'scraping'}>
            Read the website
          </Button>
        </div>
      </KeptForm>
      {scrape && <ScrapeState scrape={scrape} />}
    </Card>
  );
}

function ScrapeState({ scrape }: { scrape: Scrape }) {
  const found = scrape.fields_found.map((field) => field.replaceAll('_', ' ')).join(', ');
  return (
    <div role="status">
      <p>
        <StatusBadge status={scrape.status} /> {scrape.url}{' '}
        <Time at={scrape.finished_at ?? scrape.started_at} />
      </p>
      {scrape.error !== null && <p>{REASONS[scrape.error]}</p>}
      {found !== '' && <p className="hint">Found: {found}.</p>}
    </div>
  );
}
