import { useState } from 'react';
import { useAudienceNames } from '../../api/audience.ts';
import { api, call, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { centsText, countText, DetailList } from '../../ui/details.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { useOpen } from '../../ui/links.tsx';
import { Notice } from '../../ui/notice.tsx';

type Audience = { list_id: number } | { segment_id: number };
const FIELDS = ['list_id', 'segment_id'];

/** @param choice such as `list_id 7` */
function audienceOf(choice: string): Audience | null {
  const [kind, id] = choice.split(' ');
  if (kind === 'list_id') return { list_id: Number(id) };
  return kind === 'segment_id' ? { segment_id: Number(id) } : null;
}

/** Shows what a validation would cost; only then can it be started. */
export function ValidationForm({ onCancel }: { onCancel: () => void }) {
  const open = useOpen();
  const { lists, segments } = useAudienceNames();
  const [choice, setChoice] = useState('');
  const audience = audienceOf(choice);
  const quote = useAction({
    work: (body: Audience) => call(() => api.POST('/v1/my/validation_operations/quote', { body })),
    refresh: [],
    fields: FIELDS,
  });
  const start = useAction({
    work: (body: Audience, key) =>
      call(() =>
        api.POST('/v1/my/validation_operations', { params: { header: { 'Idempotency-Key': key } }, body }),
      ),
    refresh: ['validation_operations'],
    fields: FIELDS,
    onDone: ({ id }) => open(`/validations/${id}`),
  });
  const choose = (next: string) => {
    setChoice(next);
    quote.reset();
    start.reset();
  };
  const fault = start.fault ?? quote.fault;
  return (
    <>
      <Field label="Addresses to check" error={FIELDS.flatMap((path) => quote.errorOf(path))}>
        <Select
          value={choice}
          onChange={(event) => choose(event.target.value)}
          options={[
            { value: '', label: 'Choose a list or segment' },
            ...lists.map(({ value, label }) => ({ value: `list_id ${value}`, label: `List: ${label}` })),
            ...segments.map(({ value, label }) => ({
              value: `segment_id ${value}`,
              label: `Segment: ${label}`,
            })),
          ]}
        />
      </Field>
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      {quote.result && <Quote quote={quote.result} />}
      <div className="actions">
        {quote.result ? (
          <Button
            kind="primary"
            busy={start.busy}
            disabled={quote.result.candidate_count === 0 || quote.result.funding_state !== 'funded'}
            onClick={() => audience && start.run(audience)}
          >
            Start for at most {centsText(quote.result.maximum_charge_cents)}
          </Button>
        ) : (
          <Button
            kind="primary"
            busy={quote.busy}
            disabled={!audience}
            onClick={() => audience && quote.run(audience)}
          >
            Show the price
          </Button>
        )}
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </>
  );
}

const FUNDING: Record<Schemas['ValidationQuote']['funding_state'], string | null> = {
  funded: null,
  insufficient_funds: 'The wallet does not have enough money.',
  spend_cap_reached: 'The spend cap of the account does not allow it.',
};

function Quote({ quote }: { quote: Schemas['ValidationQuote'] }) {
  const fault = FUNDING[quote.funding_state];
  return (
    <>
      <DetailList
        items={[
          ['Addresses', countText(quote.candidate_count)],
          ['With a result of the last 30 days, free', countText(quote.reusable_count)],
          ['Price of one', centsText(quote.unit_price_cents)],
          ['At most', centsText(quote.maximum_charge_cents)],
          ['In the wallet', centsText(quote.wallet_balance_cents)],
        ]}
      />
      {fault !== null && <Notice tone="warn">{fault}</Notice>}
      <p className="muted">Risky and unknown results are free. Nothing is sent to the addresses.</p>
    </>
  );
}
