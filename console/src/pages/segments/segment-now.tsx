import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { messageOf } from '../../api/errors.ts';
import { Button } from '../../ui/button.tsx';
import { useContactChoice } from '../../ui/contact-choice.tsx';
import { Card, countText } from '../../ui/details.tsx';
import { BrandLink } from '../../ui/links.tsx';
import { Notice } from '../../ui/notice.tsx';
import { contactName } from '../../ui/contact-text.ts';
import { filterErrors, useSegmentPreview, type Filters } from './preview.ts';
import { SegmentWhy } from './segment-why.tsx';

type Preview = Schemas['SegmentPreview'];

/** Keeps what was asked beside its answer, because filters change meanwhile. */
export function useSegmentNow(filters: Filters | null) {
  const {
    contactId: typed,
    field,
    clear,
  } = useContactChoice('Why is this contact in, or not?', 'Type a name or an address, or its beginning.');
  const [picked, setPicked] = useState<number | null>(null);
  const preview = useSegmentPreview(filters, { contactId: typed ?? picked, live: true });
  const pick = (id: number) => {
    clear();
    setPicked(id);
  };
  return { preview, field, pick, errors: filterErrors(preview.error) };
}

/** What the filters of an editor select now: how many contacts, some that match, some that do not, and why. */
export function SegmentNow({
  now: { preview, field, pick, errors },
  filters,
}: {
  now: ReturnType<typeof useSegmentNow>;
  /** Null while filters are not complete. */
  filters: Filters | null;
}) {
  const { data, error, isPlaceholderData } = preview;
  const isRefused = Object.keys(errors).length > 0;
  const isCurrent = filters !== null && !isPlaceholderData && !error;
  return (
    <Card title="Contacts now">
      {error && !isRefused && <Notice tone="bad">{messageOf(error)}</Notice>}
      <p className="segment-count" aria-live="polite">
        {isRefused ? (
          <span className="muted">Correct the filters to count.</span>
        ) : filters === null ? (
          <span className="muted">Complete the filters to count.</span>
        ) : (
          <CountText preview={data} />
        )}
      </p>
      {isCurrent &&
        data?.warnings.map(({ path, message }) => (
          <Notice key={path} tone="warn">
            {message}
          </Notice>
        ))}
      {data && (
        <>
          <Samples title="Among those in the segment" contacts={data.sample} onPick={pick} />
          <Samples title="Among those not in it" contacts={data.sample_out} onPick={pick} />
        </>
      )}
      {field}
      {isCurrent && data?.match && <SegmentWhy match={data.match} filters={filters} />}
    </Card>
  );
}

function CountText({ preview }: { preview: Preview | undefined }) {
  if (!preview) return <span className="muted">Counting…</span>;
  if (preview.count === null) return <>Too slow to count: {preview.slow_because ?? 'too many contacts'}</>;
  return (
    <>
      <strong>{countText(preview.count)}</strong> {preview.count === 1 ? 'contact matches' : 'contacts match'}
    </>
  );
}

const SHOWN = 5;

function Samples({
  title,
  contacts,
  onPick,
}: {
  title: string;
  contacts: readonly Schemas['Contact'][];
  onPick: (id: number) => void;
}) {
  if (contacts.length === 0) return null;
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <ul className="plain">
        {contacts.slice(0, SHOWN).map((contact) => (
          <li key={contact.id} className="segment-sample">
            <BrandLink to={`/contacts/${contact.id}`}>{contactName(contact)}</BrandLink>
            <Button
              kind="quiet"
              aria-label={`Why ${contactName(contact)}?`}
              onClick={() => onPick(contact.id)}
            >
              Why?
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}
