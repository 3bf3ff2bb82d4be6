import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { problemText } from '../../editors/content/problem-words.ts';
import { Button } from '../../ui/button.tsx';
import { Card, DetailList } from '../../ui/details.tsx';
import { PreviewFrame, type PreviewOf } from '../../ui/preview-frame.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { useContactChoice } from '../../ui/contact-choice.tsx';

type Template = Pick<Schemas['Template'], 'id' | 'channel' | 'revision' | 'design'>;

const WIDTHS = ['desktop', 'phone'] as const;

/**
 * Shows a content as a contact gets it, at two widths.
 * @param of the letter of a campaign or flow, with its footer, or a template
 * @param template the template with the content
 */
export function PreviewPanel({ of, template, title }: { of: PreviewOf; template: Template; title: string }) {
  const { contactId, field } = useContactChoice('Show it for this contact');
  const [width, setWidth] = useState<(typeof WIDTHS)[number]>('desktop');
  const contact = contactId === null ? {} : { contact_id: contactId };
  return (
    <Card
      title="Preview"
      actions={
        template.channel === 'email' &&
        WIDTHS.map((each) => (
          <Button key={each} kind="quiet" aria-pressed={each === width} onClick={() => setWidth(each)}>
            {each === 'desktop' ? 'Desktop' : 'Phone'}
          </Button>
        ))
      }
    >
      {field}
      <Rendered template={template} contactId={contactId} />
      {template.channel === 'email' && (
        <div className={`preview-width ${width}`}>
          <PreviewFrame key={template.revision} of={{ ...of, ...contact }} title={title} />
        </div>
      )}
    </Card>
  );
}

/** The subject, or the text of an SMS, with what would prevent or spoil it. */
function Rendered({ template, contactId }: { template: Template; contactId: number | null }) {
  const { id, revision, channel } = template;
  const query = useQuery({
    queryKey: ['templates', id, 'rendered', revision, contactId],
    queryFn: ({ signal }) =>
      call(() =>
        api.POST('/v1/my/templates/{id}/render', {
          params: { path: { id } },
          body: contactId === null ? {} : { contact_id: contactId },
          signal,
        }),
      ),
  });
  return (
    <QueryView query={query}>
      {({ subject, text, problems }) => (
        <>
          {channel === 'email' ? (
            <DetailList items={[['Subject', subject]]} />
          ) : (
            <p className="sms-text">{text}</p>
          )}
          <ProblemList problems={problems} design={template.design} />
        </>
      )}
    </QueryView>
  );
}

/** What prevents a send of a content, and what could be better. */
export function ProblemList({
  problems,
  design,
}: {
  problems: readonly Schemas['TemplateProblem'][];
  design: Schemas['Template']['design'];
}) {
  if (problems.length === 0) return null;
  return (
    <ul className="problems">
      {problems.map(({ field, code, message }) => (
        <li key={`${field} ${code} ${message}`}>{problemText({ field, code, message }, design)}</li>
      ))}
    </ul>
  );
}
