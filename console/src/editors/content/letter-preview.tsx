import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call } from '../../api/client.ts';
import { Button } from '../../ui/button.tsx';
import { useContactChoice } from '../../ui/contact-choice.tsx';
import { Card } from '../../ui/details.tsx';
import { PreviewFrame } from '../../ui/preview-frame.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import type { Problem, Unsaved } from './checked.ts';
import type { Content } from './content.ts';
import { SendUnsavedTest } from './send-test.tsx';

const VIEWS = [
  ['desktop', 'Desktop'],
  ['phone', 'Phone'],
  ['dark', 'Dark'],
  ['text', 'Plain text'],
] as const;
type View = (typeof VIEWS)[number][0];

/** The letter as a contact receives it, a moment after each change. */
export function LetterPreview({
  value,
  unsaved,
  problems,
}: {
  value: Content;
  unsaved: Unsaved;
  problems: readonly Problem[];
}) {
  const { contactId, field } = useContactChoice('Show it for this contact');
  const [view, setView] = useState<View>('desktop');
  const { variables, ...content } = unsaved;
  const contact = contactId === null ? {} : { contact_id: contactId };
  const cannot = problems.filter(({ isError }) => isError);
  const hasLetter = !!unsaved.design || (unsaved.body ?? '').trim() !== '';
  return (
    <Card
      title="Preview"
      actions={VIEWS.map(([name, label]) => (
        <Button key={name} kind="quiet" aria-pressed={name === view} onClick={() => setView(name)}>
          {label}
        </Button>
      ))}
    >
      {field}
      <Rendered unsaved={unsaved} contactId={contactId} withText={view === 'text'} />
      {view === 'dark' && <p className="hint">Roughly what mail apps show in dark mode. They differ.</p>}
      {view !== 'text' && hasLetter && (
        <div className={`preview-width ${view}`}>
          <PreviewFrame
            of={{ content, variables, dark: view === 'dark', ...contact }}
            title="Preview of the letter"
            height={720}
          />
        </div>
      )}
      <div className="actions">
        <SendUnsavedTest value={value} unsaved={unsaved} contactId={contactId} />
      </div>
      <ProblemsBelow problems={problems} cannot={cannot.length} />
    </Card>
  );
}

/** The subject as it is sent, and the plain text. */
function Rendered({
  unsaved,
  contactId,
  withText,
}: {
  unsaved: Unsaved;
  contactId: number | null;
  withText: boolean;
}) {
  const query = useQuery({
    queryKey: ['content-rendered', unsaved, contactId],
    queryFn: ({ signal }) =>
      call(() =>
        api.POST('/v1/my/templates/render', {
          body: { ...unsaved, ...(contactId === null ? {} : { contact_id: contactId }) },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    gcTime: 0,
  });
  return (
    <QueryView query={query}>
      {({ subject, text }) => (
        <>
          <p className="letter-subject">{subject ?? <span className="muted">No subject</span>}</p>
          {withText && <pre className="letter-text">{text}</pre>}
        </>
      )}
    </QueryView>
  );
}

/** All problems, because those of closed sections and of the whole letter are easily missed. */
function ProblemsBelow({ problems, cannot }: { problems: readonly Problem[]; cannot: number }) {
  if (problems.length === 0) return <p className="muted">Nothing to improve.</p>;
  return (
    <details className="section-style" open={cannot > 0}>
      <summary>
        {cannot > 0 ? `${cannot} to fix before it can be sent` : `${problems.length} could be better`}
      </summary>
      <ul className="section-problems">
        {problems.map(({ field, text, isError }) => (
          <li key={`${field} ${text}`} className={isError ? 'bad' : 'warn'}>
            {text}
          </li>
        ))}
      </ul>
    </details>
  );
}
