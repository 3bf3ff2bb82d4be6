import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { useBrand } from '../../shell/brand.ts';
import { Button } from '../../ui/button.tsx';
import { Card, StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink } from '../../ui/links.tsx';
import { SendMessageDialog } from '../messages/send-message-dialog.tsx';

interface Step {
  /** As the API names it. */
  name: string;
  title: string;
  text: string;
  links: readonly { to: string; search?: Record<string, string>; text: string; managersOnly?: boolean }[];
}

const STEPS: readonly Step[] = [
  {
    name: 'domain',
    title: 'Send from your own domain',
    text: 'Add a domain, and publish the DNS records that it shows. Until then, mail comes from the sandbox address.',
    links: [{ to: '/domains', text: 'Add a domain' }],
  },
  {
    name: 'brand',
    title: 'Describe your brand',
    text: 'Name, postal address, colors and logo appear in your mail. They can be read from your website.',
    links: [{ to: '/brand', text: 'Complete the brand' }],
  },
  {
    name: 'contacts',
    title: 'Add contacts',
    text: 'The people you write to. Import a CSV file, or add the first by hand.',
    links: [
      { to: '/imports', text: 'Import a file' },
      { to: '/contacts', search: { new: 'contact' }, text: 'Add a contact' },
    ],
  },
  {
    name: 'first_send',
    title: 'Send a first message',
    text: 'Send one to yourself, and see here what becomes of it. A program sends with a live API key.',
    links: [{ to: '/api-keys', text: 'Create an API key', managersOnly: true }],
  },
];

/** The steps before an account is in full use, each with what to do. Disappears when all are done. */
export function FirstSteps() {
  const query = useQuery({
    queryKey: ['account', 'first-steps'],
    queryFn: ({ signal }) => call(() => api.GET('/v1/my/account', { signal })),
  });
  const account = query.data;
  if (!account) return null;
  const { steps, progress } = account.onboarding;
  if (progress.completed >= progress.total) return null;
  return (
    <Card title={`First steps: ${progress.completed} of ${progress.total} done`}>
      <ol className="steps">
        {STEPS.map((step) => (
          <StepItem
            key={step.name}
            step={step}
            doneAt={steps[step.name]?.completed_at ?? null}
            account={account}
          />
        ))}
      </ol>
    </Card>
  );
}

function StepItem({
  step: { name, title, text, links },
  doneAt,
  account,
}: {
  step: Step;
  doneAt: string | null;
  account: Schemas['Account'];
}) {
  const [sends, setSends] = useState(false);
  const { manages } = useBrand();
  if (doneAt !== null)
    return (
      <li>
        <StatusBadge status="done" tone="good" /> {title} <span className="muted">· </span>
        <Time at={doneAt} />
      </li>
    );
  return (
    <li>
      <StatusBadge status="to do" tone="warn" /> <strong>{title}</strong>
      <p className="muted">{text}</p>
      <div className="actions">
        {links
          .filter(({ managersOnly }) => manages || managersOnly !== true)
          .map((link) => (
            <BrandLink key={link.to} to={link.to} search={link.search ?? {}} className="button">
              {link.text}
            </BrandLink>
          ))}
        {name === 'first_send' && (
          <Button kind="primary" onClick={() => setSends(true)}>
            Send a message to yourself
          </Button>
        )}
        {name === 'first_send' && account.using_sandbox && account.sandbox_email !== null && (
          <span className="muted">It comes from {account.sandbox_email}.</span>
        )}
      </div>
      {sends && <SendMessageDialog onClose={() => setSends(false)} />}
    </li>
  );
}
