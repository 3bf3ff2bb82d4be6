import { useState } from 'react';
import type { Content } from '../../../editors/content/content.ts';
import { problemText } from '../../../editors/content/problem-words.ts';
import type { Draft } from '../../../editors/draft/draft.ts';
import { useUnchanged } from '../../../editors/draft/use-unchanged.ts';
import { Button } from '../../../ui/button.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { Card, Time } from '../../../ui/details.tsx';
import { BrandLink } from '../../../ui/links.tsx';
import { isPast } from '../../../ui/local-time.ts';
import { Notice } from '../../../ui/notice.tsx';
import type { Campaign } from '../campaign-frame.tsx';
import type { Checked, FieldErrors } from './check.ts';
import type { EditedCampaign } from './content.ts';
import { goTo, PARTS, partOf } from './part.ts';
import { SendSummary } from './send-summary.tsx';

/** What is still missing or wrong, and where to correct it. */
export function SendPart({
  campaign,
  draft,
  checked,
  errors,
  busy,
  onAsked,
  onSend,
}: {
  campaign: Campaign;
  draft: Draft<EditedCampaign>;
  checked: Checked;
  errors: FieldErrors;
  busy: boolean;
  /** The user wants to send, so that fields that are missing are shown from now on. */
  onAsked: () => void;
  /** Null: a campaign that waits for its time is resumed instead. */
  onSend: (() => void) | null;
}) {
  const [step, setStep] = useState<'checking' | 'confirming' | null>(null);
  const isReady = Object.keys(errors).length === 0;
  const at = draft.content.scheduled_at;
  // A check that is requested just after typing waits for the check of what was typed.
  if (step === 'checking' && (checked.isCurrent || checked.fault !== null)) {
    setStep(checked.isCurrent && isReady && !isPast(at) ? 'confirming' : null);
  }
  const ask = () => {
    onAsked();
    if (checked.fault === null) setStep('checking');
    else checked.again();
  };
  return (
    <Card title="Before it is sent">
      <Problems checked={checked} errors={errors} design={draft.content.template_attributes.design} />
      {checked.needsApproval && (
        <Notice tone="warn">An operator has to approve it after you send it. It waits until then.</Notice>
      )}
      {onSend && (
        <div className="actions">
          <Button
            kind="primary"
            busy={busy || step === 'checking'}
            disabled={draft.conflict !== null}
            onClick={ask}
          >
            {at === null ? 'Send…' : 'Schedule…'}
          </Button>
          {at !== null && !isPast(at) && (
            <span className="muted">
              begins <Time at={at} full />
            </span>
          )}
        </div>
      )}
      {onSend && step === 'confirming' && (
        <SendConfirmation
          {...{ campaign, draft, onSend }}
          sender={checked.sender}
          onPast={onAsked}
          onClose={() => setStep(null)}
        />
      )}
    </Card>
  );
}

/** Asks whether to send what the user sees. */
function SendConfirmation({
  campaign,
  draft,
  sender,
  onSend,
  onPast,
  onClose,
}: {
  campaign: Campaign;
  draft: Draft<EditedCampaign>;
  sender: string | null;
  onSend: () => void;
  /** Its time has passed while the dialog was open. */
  onPast: () => void;
  onClose: () => void;
}) {
  useUnchanged(draft, { isBusy: false, onChanged: onClose });
  const { name, scheduled_at: at } = draft.content;
  const label = at === null ? 'Send now' : 'Schedule';
  const send = () => {
    onClose();
    if (isPast(at)) onPast();
    else onSend();
  };
  return (
    <Dialog open onClose={onClose} title={`${label}: “${name}”?`}>
      <SendSummary content={draft.content} channel={campaign.channel} sender={sender} />
      <p>
        {at === null ? (
          'It begins at once. Messages that were sent cannot be recalled.'
        ) : (
          <>
            It begins <Time at={at} full />. Until then it can be paused, changed or canceled.
          </>
        )}
      </p>
      <div className="actions">
        <Button kind="primary" onClick={send}>
          {label}
        </Button>
        <Button onClick={onClose}>Not yet</Button>
      </div>
    </Dialog>
  );
}

/** Everything that a send would refuse, with links to its parts. */
function Problems({
  checked,
  errors,
  design,
}: {
  checked: Checked;
  errors: FieldErrors;
  design: Content['design'];
}) {
  const items = Object.entries(errors).flatMap(([field, texts]) => texts.map((text) => ({ field, text })));
  if (checked.fault !== null) {
    return (
      <Notice tone="bad" title="It could not be checked">
        <p>{checked.fault}</p>
        <Button onClick={checked.again}>Check again</Button>
      </Notice>
    );
  }
  if (items.length === 0) {
    return <p role="status">{checked.isCurrent ? 'Nothing is missing. It can be sent.' : 'Checking…'}</p>;
  }
  return (
    <div role="status">
      <p>This is missing or wrong:</p>
      <ul className="problems">
        {items.map(({ field, text }) => (
          <li key={`${field} ${text}`}>
            <PartLink field={field} /> <Fault field={field} text={text} design={design} />
          </li>
        ))}
      </ul>
    </div>
  );
}

const IN_DESIGN = /^template_attributes\.(?=design\.)/;

function Fault({ field, text, design }: { field: string; text: string; design: Content['design'] }) {
  if (IN_DESIGN.test(field)) {
    return problemText({ field: field.replace(IN_DESIGN, ''), message: text }, design);
  }
  return (
    <>
      <span className="muted">{lastOf(field)}</span> {text}
    </>
  );
}

/** Where the field is: on this page, or on that of the brand. */
function PartLink({ field }: { field: string }) {
  const part = partOf(field);
  if (part !== null) {
    return (
      <button type="button" className="link" onClick={() => goTo(part)}>
        {PARTS[part]}
      </button>
    );
  }
  return field.startsWith('brand.') ? <BrandLink to="/brand">Brand</BrandLink> : null;
}

/** Fields whose names in the API say less than those on the page. */
const FIELDS: Readonly<Record<string, string>> = {
  contact_list_id: 'list',
  segment_id: 'segment',
  body: 'content',
  from_email: 'address of the sender',
  scheduled_at: 'begin',
};

/** `template_attributes.subject` is in the part "Letter", so that its last names say enough. */
function lastOf(field: string): string {
  const last = field.replace(/^(?:trigger_attributes|template_attributes|data\.options|brand)\./, '');
  if (last === 'data.filters' || last.startsWith('data.filters.')) return 'filters';
  return FIELDS[last] ?? last.replaceAll('_', ' ');
}
